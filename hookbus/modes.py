"""Modes combine the answers to a question into one result. A mode is a function of this module or
your own function.

The simplest mode is a plain function. It takes a list of all answers that are not None:

    @hookspec(sum)
    def cost(tool: str) -> float: ...

A mode that selects receivers, or stops before all receivers are called, is a generator function. It
takes the receivers in order, and yields lists of receivers to call. The receivers in one list are
called concurrently, and `yield` returns their answers. The mode returns the result of the question:

    def two_agree(receivers):
        seen = set()
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value in seen:
                return answer.value
            seen.add(answer.value)

None is never an answer. It is the value of a receiver that failed or was not called.

If a mode has a second parameter, it gets a mapping of the question's arguments there. To call
receivers with changed arguments, it yields `[receiver], {name: value}`. For an `async def`
question, a mode may be an async generator. It yields `Result(value)` last.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import attrs

from ._merging import merging, rules
from ._merging.merging import Merged, Rule
from .exceptions import HookError

__all__ = [
    "Answer", "Answers", "AsyncSteps", "Receiver", "Reject", "Result", "Steps", "broadcast",
    "firstresult", "fold", "merge", "rules", "unique", "void", "with_default",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen(eq=False)
class Receiver(Generic[T_co]):
    """A receiver of a question, as a mode sees it. A mode yields receivers to call them.

    Attributes:
        name: the name of the receiver in events and errors.
        where: the file and line of the receiver's definition.
        priority: the priority of the receiver's connection.
    """

    name: str
    where: str
    priority: float


@attrs.frozen
class Answer(Generic[T_co]):
    """The answer of one receiver.

    Attributes:
        receiver: the name of the receiver.
        where: the file and line of the receiver.
        value: the answer, or None if the receiver returned None, failed or was not called.
        error: the exception that the receiver raised, or None.
        asked: whether the receiver was called. It is False if its `when=` returned false.
    """

    receiver: str
    where: str
    value: T_co | None = None
    error: BaseException | None = None
    asked: bool = True


@attrs.frozen
class Answers(Generic[T_co, R_co]):
    """The return value of `ask`: the answers and failures of all receivers, in order, and the
    result of the mode.

    Attributes:
        answers: the answers, including None, each with the name of its receiver.
        failures: an entry for each receiver that failed, with the exception as `error`.
        result: the result that a normal call of the question would have returned.
    """

    answers: tuple[Answer[T_co], ...]
    failures: tuple[Answer[T_co], ...]
    result: R_co


@attrs.frozen
class Reject:
    """A mode yields this object to reject an answer. The receiver of the answer has then failed.

    Attributes:
        answer: the answer that the mode received.
        reason: the problem with the answer.
    """

    answer: Answer[Any]
    reason: str


@attrs.frozen
class Result:
    """A mode that is an async generator yields this object last.

    Attributes:
        value: the result of the question.
    """

    value: Any


Asking = Sequence[Receiver[T]] | tuple[Sequence[Receiver[T]], Mapping[str, Any]] | Reject
"""A value that a mode yields: receivers to call, with changed arguments if any, or a `Reject`."""

Steps = Generator[Asking[T], list[Answer[T]], R]
"""The return type of a generator function that is a mode:
`def mode(receivers: Sequence[Receiver[T]]) -> Steps[T, R]`."""

AsyncSteps = AsyncGenerator[Asking[T] | Result, list[Answer[T]]]
"""The return type of an async generator function that is a mode of an `async def` question."""

Mode = Callable[..., Any]


def void(receivers: Sequence[Receiver[object]]) -> Steps[object, None]:
    """Call all receivers concurrently, and return None."""
    yield receivers


def broadcast(receivers: Sequence[Receiver[T]]) -> Steps[T, list[T]]:
    """Call the receivers one after the other, and return the list of their answers."""
    answers: list[T] = []
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            answers.append(answer.value)
    return answers


def firstresult(receivers: Sequence[Receiver[T]]) -> Steps[T, T | None]:
    """Call the receivers one after the other until a receiver returns an answer, and return this
    answer. The remaining receivers are not called.
    """
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            return answer.value
    return None


def merge(
    rest: Rule | None = None, /, **of_keys: Rule
) -> Callable[[Sequence[Receiver[object]]], Steps[object, Merged]]:
    """Return a mode that merges answers into one dict, key by key. The answers must be mappings.

    The receivers are called one after the other. A key with the value None is ignored. A receiver
    fails if its answer is not a mapping, has a key without a rule, or has a value that its rule
    does not accept. The mode ignores such an answer. After an invalid value for `intersect`, the
    intersection is empty, because a mistake must not widen an allow list.

    Args:
        rest: the rule for every key without its own rule. Without `rest`, an answer with such a key
            is rejected.
        of_keys: the rule for each key. A rule is a function of `modes.rules` or its name (`last`,
            `first`, `concat`, `update` or `intersect`), or your own function of the earlier and the
            later value.

    Raises:
        HookError: if a rule is not valid.
    """
    of_key = {key: merging.rule_of(key, rule) for key, rule in of_keys.items()}
    of_rest = None if rest is None else merging.rule_of("every other key", rest)

    def mode(receivers: Sequence[Receiver[object]]) -> Steps[object, Merged]:
        merged: Merged = {}
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is not None:
                merged, reason = merging.merged_with(merged, answer.value, of_key, of_rest)
                if reason is not None:
                    yield Reject(answer, reason)
        return merged

    rules_of_keys = [] if of_rest is None else [merging.name_of(of_rest)]
    rules_of_keys += [f"{key}={merging.name_of(rule)}" for key, rule in of_key.items()]
    mode.__name__ = f"merge({', '.join(rules_of_keys)})"
    return mode


# -- modes that wrap other modes ---------------------------------------------------------------


def fold(name: str) -> Callable[[Sequence[Receiver[T]], Mapping[str, Any]], Steps[T, Any]]:
    """Return a mode that passes each receiver's answer to the next receiver as the argument `name`.

    If a receiver returns None or fails, the next receiver gets the same value. The result is the
    final value.
    """

    def mode(receivers: Sequence[Receiver[T]], arguments: Mapping[str, Any]) -> Steps[T, Any]:
        value = arguments[name]
        for receiver in receivers:
            [answer] = yield [receiver], {name: value}
            value = value if answer.value is None else answer.value
        return value

    mode.__name__ = f"fold({name!r})"
    mode.__dict__["needs"] = (name,)
    return mode


def unique(key: Callable[[Any], Any]) -> Callable[[Sequence[Receiver[T]]], Steps[T, list[T]]]:
    """Return a mode like `broadcast` that keeps only the first answer for each `key`.

    If an answer is a list or tuple, its items are compared separately. If `key` raises an
    exception, the receiver that returned the answer fails.
    """

    def mode(receivers: Sequence[Receiver[Any]]) -> Steps[Any, list[Any]]:
        answers: list[Any] = []
        seen: set[Any] = set()
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is None:
                continue
            is_many = isinstance(answer.value, (list, tuple))
            items = answer.value if is_many else [answer.value]
            try:
                keyed = {key(item): item for item in reversed(items)}
                new = [item for its, item in reversed(keyed.items()) if its not in seen]
            except Exception as error:
                yield Reject(answer, f"computing its key failed: {type(error).__name__}")
                continue
            seen.update(keyed)
            kept = tuple(new) if isinstance(answer.value, tuple) else new
            answers += [kept] if is_many and new else new
        return answers

    mode.__name__ = f"unique({merging.name_of(key)})"
    return mode


_Asks = Callable[[Sequence[Receiver[Any]], Mapping[str, Any]], Steps[Any, R]]


@overload
def with_default(mode: Mode, fallback: Callable[..., Coroutine[Any, Any, R]]) -> _Asks[R]: ...
@overload
def with_default(mode: Mode, fallback: Callable[..., R]) -> _Asks[R]: ...
def with_default(mode: Mode, fallback: Callable[..., Any]) -> _Asks[Any]:
    """Return a mode that uses the result of a fallback if the result of `mode` is None or empty.

    The fallback takes the arguments that match its parameters. Its exceptions propagate to the
    caller. For an `async def` question, the fallback may be async.

    Raises:
        HookError: if the mode or the fallback is not valid.
    """
    steps = steps_of(mode)
    if merging.is_async(mode) or not callable(fallback):
        raise HookError(
            f"with_default cannot take {mode!r:.60} and {fallback!r:.60}: "
            "write with_default(mode, function), where the mode is a plain def"
        )
    named, needed = merging.named_by(fallback)

    def either(receivers: Sequence[Receiver[Any]], arguments: Mapping[str, Any]) -> Any:
        result = yield from steps(receivers, arguments)
        if result is None or (isinstance(result, (list, dict)) and not result):
            return fallback(**{name: arguments[name] for name in named if name in arguments})
        return result

    either.__name__ = f"with_default({merging.name_of(mode)})"
    either.__dict__["needs"] = (*getattr(mode, "needs", ()), *needed)
    return either


def steps_of(mode: Mode) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Return a mode as a generator function that takes the receivers and the arguments.

    Raises:
        HookError: if the object is not a mode.
    """
    makers = (merge, fold, unique, with_default, *merging.RULES.values())
    if any(mode is each for each in makers):
        raise HookError(
            f"{merging.name_of(mode)} is not a mode: "
            "write modes.merge(key=rule), or modes.firstresult for the first answer"
        )
    return merging.steps_of(mode, broadcast)
