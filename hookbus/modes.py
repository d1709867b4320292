"""How the answers to a question become one: a function of this module, or one of your own.

A mode is a plain function. One that needs all answers gets them as a list, without those that are
None:

    @hookspec(sum)
    def cost(tool: str) -> float: ...

One that says itself whom to ask, and when to stop, is a generator function. It gets the receivers
in order, yields a list of those to ask (several are asked side by side) and is sent their answers;
what it returns is the result of the question:

    def two_agree(receivers):
        seen = set()
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value in seen:
                return answer.value
            seen.add(answer.value)

None is never an answer; it is the value of a receiver that failed, or was not asked.

A mode that takes two parameters is given the arguments as the second, by name. One that yields
`[receiver], {name: value}` asks with changed ones. That of an `async def` question may be an async
generator, which yields `Result(value)` last.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import attrs

from . import _modes
from ._modes import Merged, Rule, concat, first, intersect, last, update
from .exceptions import HookError

__all__ = [
    "Answer", "Answers", "AsyncSteps", "Receiver", "Reject", "Result", "Steps", "broadcast",
    "concat", "first", "firstresult", "fold", "intersect", "last", "merge", "with_default", "unique",
    "update", "void",
]  # fmt: skip

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen(eq=False)
class Receiver(Generic[T_co]):
    """One receiver of a question, as a mode sees it: something to yield.

    Attributes:
        name: what it is called in events and errors.
        where: the file and line it was written at.
        priority: the one it was connected with.
    """

    name: str
    where: str
    priority: float


@attrs.frozen
class Answer(Generic[T_co]):
    """What one receiver answered.

    Attributes:
        receiver: the name of the receiver.
        where: the file and line of the receiver.
        value: the answer; None where it has none to give, failed or was not asked.
        error: what it failed with, else None.
        asked: whether it had a turn; not where its `when=` did not hold.
    """

    receiver: str
    where: str
    value: T_co | None = None
    error: BaseException | None = None
    asked: bool = True


@attrs.frozen
class Answers(Generic[T_co, R_co]):
    """What `ask` gives: every receiver that was asked, in order, and what the mode makes of it.

    Attributes:
        answers: what the receivers answered, None included; who gave which is in each.
        failures: the receivers that failed, with the exception as `error`.
        result: what asking without `ask` would have given.
    """

    answers: tuple[Answer[T_co], ...]
    failures: tuple[Answer[T_co], ...]
    result: R_co


@attrs.frozen
class Reject:
    """A mode yields this for an answer that it cannot use, which then is a failure of who gave it.

    Attributes:
        answer: as it was sent to the mode.
        reason: what is wrong with it.
    """

    answer: Answer[Any]
    reason: str


@attrs.frozen
class Result:
    """A mode that is an async generator yields this last.

    Attributes:
        value: the result of the question.
    """

    value: Any


Asking = Sequence[Receiver[T]] | tuple[Sequence[Receiver[T]], Mapping[str, Any]] | Reject
"""What a mode yields: whom to ask, with which changed arguments; or an answer that it rejects."""

Steps = Generator[Asking[T], list[Answer[T]], R]
"""What a generator function returns that is a mode:
`def mode(receivers: Sequence[Receiver[T]]) -> Steps[T, R]`."""

AsyncSteps = AsyncGenerator[Asking[T] | Result, list[Answer[T]]]
"""What an async generator function returns that is a mode of an `async def` question."""

Mode = Callable[..., Any]


def void(receivers: Sequence[Receiver[object]]) -> Steps[object, None]:
    """Ask all receivers side by side; nothing comes back."""
    yield receivers


def broadcast(receivers: Sequence[Receiver[T]]) -> Steps[T, list[T]]:
    """Ask the receivers one after the other; the answers in order."""
    answers: list[T] = []
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            answers.append(answer.value)
    return answers


def firstresult(receivers: Sequence[Receiver[T]]) -> Steps[T, T | None]:
    """Ask the receivers one after the other until one answers; who comes later is not asked."""
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            return answer.value
    return None


def merge(
    rest: Rule | None = None, /, **rules: Rule
) -> Callable[[Sequence[Receiver[object]]], Steps[object, Merged]]:
    """Return a mode for answers that are mappings: they become one dict, key by key.

    Receivers are asked one after the other. A key whose value is None says nothing. An answer that
    is no mapping, has a key without a rule, or a value its rule cannot take, is a failure of its
    receiver and none of it is taken; what `intersect` cannot take then leaves nothing, as a
    mistake must not widen what was to be narrowed.

    Args:
        rest: the rule for every key not named; without one such a key is refused.
        rules: for each key `last`, `first`, `concat`, `update`, `intersect` (the functions of this
            module, or their names), or a function of what is there and what is added, in this
            order.

    Raises:
        HookError: for a rule that is none.
    """
    of_key = {key: _modes.rule_of(key, rule) for key, rule in rules.items()}
    of_rest = None if rest is None else _modes.rule_of("every other key", rest)

    def mode(receivers: Sequence[Receiver[object]]) -> Steps[object, Merged]:
        merged: Merged = {}
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is not None:
                merged, reason = _modes.merged_with(merged, answer.value, of_key, of_rest)
                if reason is not None:
                    yield Reject(answer, reason)
        return merged

    said = [] if of_rest is None else [_modes.name_of(of_rest)]
    said += [f"{key}={_modes.name_of(rule)}" for key, rule in of_key.items()]
    mode.__name__ = f"merge({', '.join(said)})"
    return mode


# -- modes made of others ----------------------------------------------------------------------


def fold(name: str) -> Callable[[Sequence[Receiver[T]], Mapping[str, Any]], Steps[T, Any]]:
    """Return a mode that hands the argument `name` on: each receiver gets what the one before
    answered.

    Who answers None, or fails, passes it on as it is. The result is what the last one left of it.
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
    """Return a mode like `broadcast` in which of two answers with the same `key` the first stands.

    Of an answer that is a list or tuple each item counts. An answer that `key` fails on is a
    failure of its receiver.
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
                yield Reject(answer, f"its key could not be had: {type(error).__name__}")
                continue
            seen.update(keyed)
            kept = tuple(new) if isinstance(answer.value, tuple) else new
            answers += [kept] if is_many and new else new
        return answers

    mode.__name__ = f"unique({_modes.name_of(key)})"
    return mode


_Asks = Callable[[Sequence[Receiver[Any]], Mapping[str, Any]], Steps[Any, R]]


@overload
def with_default(mode: Mode, fallback: Callable[..., Coroutine[Any, Any, R]]) -> _Asks[R]: ...
@overload
def with_default(mode: Mode, fallback: Callable[..., R]) -> _Asks[R]: ...
def with_default(mode: Mode, fallback: Callable[..., Any]) -> _Asks[Any]:
    """Return a mode whose result, where it is None or empty, is that of a fallback.

    The fallback is called with the arguments it names. It is the host's own: what it raises goes
    out. That of an `async def` question may be async.

    Raises:
        HookError: if one of them is not what it has to be.
    """
    steps = steps_of(mode)
    if _modes.is_async(mode) or not callable(fallback):
        raise HookError(
            f"with_default cannot take {mode!r:.60} and {fallback!r:.60}: "
            "write with_default(mode, function), with a mode that is a plain def"
        )
    named, needed = _modes.named_by(fallback)

    def either(receivers: Sequence[Receiver[Any]], arguments: Mapping[str, Any]) -> Any:
        result = yield from steps(receivers, arguments)
        if result is None or (isinstance(result, (list, dict)) and not result):
            return fallback(**{name: arguments[name] for name in named if name in arguments})
        return result

    either.__name__ = f"with_default({_modes.name_of(mode)})"
    either.__dict__["needs"] = (*getattr(mode, "needs", ()), *needed)
    return either


def steps_of(mode: Mode) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Return a mode as what is run: a generator, of the receivers and the arguments.

    Raises:
        HookError: if it is none.
    """
    makers = (merge, fold, unique, with_default, *_modes.RULES.values())
    if any(mode is each for each in makers):
        raise HookError(
            f"{_modes.name_of(mode)} is no mode: "
            "write modes.merge(key=rule), or modes.firstresult for the first answer"
        )
    return _modes.steps_of(mode, broadcast)
