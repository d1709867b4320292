"""How the answers to a question become one: `void`, `broadcast`, `firstresult`, `merge(...)`, or a function of your own.

A mode is a plain function. One that needs all answers gets them as a list, without those that are None:

    @hookspec(sum)
    def cost(tool: str) -> float: ...

One that says itself whom to ask, and when to stop, is a generator function. It gets the receivers in order, yields a list of
those to ask (several are asked side by side) and is sent their answers; what it returns is the result of the question:

    def two_agree(receivers):
        seen = set()
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value in seen:
                return answer.value
            seen.add(answer.value)

A receiver that failed, or was not asked, has an answer whose value is None. None is never an answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Generic, Literal, TypeVar

import attrs

from .exceptions import HookError, did_you_mean

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
    """A mode yields this when an answer is not what it can use, with the reason: it then is a failure of who gave it."""

    answer: Answer[Any]
    reason: str


@attrs.frozen
class Result:
    """A mode that is an async generator yields this last: the result of the question."""

    value: Any


Steps = Generator[Sequence[Receiver[T]] | tuple[Sequence[Receiver[T]], Mapping[str, Any]] | Reject, list[Answer[T]], R]
"""What a mode that is a generator function returns: `def mode(receivers: Sequence[Receiver[T]]) -> Steps[T, R]`."""

Mode = Callable[..., Any]
Merged = dict[str, Any]


def void(receivers: Sequence[Receiver[object]], arguments: Mapping[str, Any] | None = None) -> Steps[object, None]:
    """Ask all receivers side by side; nothing comes back."""
    yield receivers


def broadcast(receivers: Sequence[Receiver[T]], arguments: Mapping[str, Any] | None = None) -> Steps[T, list[T]]:
    """Ask the receivers one after the other; the answers in order."""
    answers: list[T] = []
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            answers.append(answer.value)
    return answers


def firstresult(receivers: Sequence[Receiver[T]], arguments: Mapping[str, Any] | None = None) -> Steps[T, T | None]:
    """Ask the receivers one after the other until one answers; who comes later is not asked."""
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            return answer.value
    return None


# -- merge -------------------------------------------------------------------------------------------------------------


def last(earlier: Any, later: Any) -> Any:
    """Of what was said earlier and later, keep the later."""
    return later


def first(earlier: Any, later: Any) -> Any:
    """Of what was said earlier and later, keep the earlier."""
    return earlier


def concat(earlier: Any, later: Any) -> Any:
    """Join texts, lists or tuples: the earlier, then the later."""
    return earlier + later


def update(earlier: Any, later: Any) -> Any:
    """Join mappings: the earlier and the later; a key in both has its later value."""
    return {**earlier, **later}


def intersect(earlier: Any, later: Any) -> Any:
    """Keep what is in the earlier and in the later, in the order of the earlier: what an allow list needs."""
    if isinstance(earlier, AbstractSet):
        return earlier & set(later)
    kept = [item for item in earlier if item in later]
    return tuple(kept) if isinstance(earlier, tuple) else kept


Rule = Callable[[Any, Any], Any] | Literal["last", "first", "concat", "update", "intersect"]

RULES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "last": last, "first": first, "concat": concat, "update": update, "intersect": intersect,
}  # fmt: skip

_KINDS: Final[dict[Any, tuple[type, ...]]] = {
    concat: (str, list, tuple),
    update: (Mapping,),
    intersect: (list, tuple, set, frozenset),
}
"""What a rule can take; a rule that is not here takes anything."""


def merge(rest: Rule | None = None, /, **rules: Rule) -> Callable[[Sequence[Receiver[object]]], Steps[object, Merged]]:
    """Return a mode for answers that are mappings: they become one dict, key by key.

    Receivers are asked one after the other. A key whose value is None says nothing. An answer that is no mapping, has a key
    without a rule, or a value its rule cannot take, is a failure of its receiver and none of it is taken; what `intersect`
    cannot take then leaves nothing, as a mistake must not widen what was to be narrowed.

    Args:
        rest: the rule for every key not named; without one such a key is refused.
        rules: for each key `last`, `first`, `concat`, `update`, `intersect` (the functions of this module, or their names),
            or a function of what is there and what is added, in this order.

    Raises:
        HookError: for a rule that is none.
    """
    of_key = {key: _rule(key, rule) for key, rule in rules.items()}
    of_rest = None if rest is None else _rule("every other key", rest)

    def mode(receivers: Sequence[Receiver[object]]) -> Steps[object, Merged]:
        merged: Merged = {}
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is not None:
                merged, reason = _merged(merged, answer.value, of_key, of_rest)
                if reason is not None:
                    yield Reject(answer, reason)
        return merged

    said = [*([_name(of_rest)] if of_rest is not None else []), *(f"{key}={_name(rule)}" for key, rule in of_key.items())]
    mode.__name__, mode.__qualname__ = "merge", f"merge({', '.join(said)})"
    return mode


def _rule(key: str, rule: Any) -> Callable[[Any, Any], Any]:
    found = RULES.get(rule) if isinstance(rule, str) else rule
    if not callable(found):
        hint = did_you_mean(rule, RULES) if isinstance(rule, str) else f"; known are {', '.join(RULES)}, or write a function"
        raise HookError(f"merge has no rule {rule!r:.60} for {key}{hint}")
    return found


def _name(function: Callable[..., Any]) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _merged(
    merged: Merged, answer: object, of_key: Mapping[str, Callable[[Any, Any], Any]], of_rest: Callable[[Any, Any], Any] | None
) -> tuple[Merged, str | None]:
    """Return what there is with an answer added; or, with the reason, as it was: only what was to be narrowed is."""
    if not isinstance(answer, Mapping):
        return merged, f"a {type(answer).__name__} cannot be merged: answer with a mapping of {', '.join(of_key) or 'keys'}"
    try:
        said = dict(answer)
    except Exception as error:
        return merged, f"it could not be read: {type(error).__name__}"
    draft, narrowed, reason = dict(merged), dict(merged), None
    for key, value in said.items():
        rule = of_key.get(key, of_rest)
        if value is None and rule is not None:
            continue
        refused = _added(draft, key, rule, value, of_key)
        reason = reason or refused
        if rule is intersect:
            narrowed[key] = draft[key] if refused is None else []
    return (draft, None) if reason is None else (narrowed, reason)


def _added(draft: Merged, key: str, rule: Callable[[Any, Any], Any] | None, value: Any, known: Mapping[str, Any]) -> str | None:
    """Add one value to the draft, or say why not."""
    if rule is None:
        return f"there is no rule for {key!r}{did_you_mean(str(key), known)}"
    kinds = _KINDS.get(rule, (object,))
    if rule is concat and key in draft:
        kinds = tuple(kind for kind in kinds if isinstance(draft[key], kind))
    if not isinstance(value, kinds):
        takes = " or ".join(kind.__name__ for kind in kinds)
        return f"{rule.__name__} of {key!r} takes a {takes}, not a {type(value).__name__}"
    try:
        draft[key] = rule(draft[key], value) if key in draft else value
    except Exception as error:
        return f"the rule for {key!r} failed on it: {type(error).__name__}"
    return None


# -- modes made of others ------------------------------------------------------------------------------------------------


def fold(name: str) -> Callable[[Sequence[Receiver[T]], Mapping[str, Any]], Steps[T, Any]]:
    """Return a mode that hands the argument `name` from one receiver to the next: each gets what the one before answered.

    Who answers None passes it on as it is. The result is what the last one left of it.
    """

    def fold(receivers: Sequence[Receiver[T]], arguments: Mapping[str, Any]) -> Steps[T, Any]:
        value = arguments[name]
        for receiver in receivers:
            [answer] = yield [receiver], {name: value}
            value = value if answer.value is None else answer.value
        return value

    fold.__qualname__ = f"fold({name!r})"
    return fold


def unique(key: Callable[[Any], Any]) -> Callable[[Sequence[Receiver[Any]]], Steps[Any, list[Any]]]:
    """Return a mode like `broadcast` in which of two answers with the same `key` the first stands.

    Of an answer that is a list or tuple each item counts. An answer that `key` fails on is a failure of its receiver.
    """

    def unique(receivers: Sequence[Receiver[Any]]) -> Steps[Any, list[Any]]:
        answers: list[Any] = []
        seen: set[Any] = set()
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is None:
                continue
            is_many = isinstance(answer.value, (list, tuple))
            try:
                keyed = {key(item): item for item in reversed(answer.value if is_many else [answer.value])}
                new = [item for its_key, item in reversed(keyed.items()) if its_key not in seen]
            except Exception as error:
                yield Reject(answer, f"its key could not be had: {type(error).__name__}")
                continue
            seen.update(keyed)
            answers += ([new] if new else []) if is_many else new
        return answers

    return unique


def otherwise(mode: Callable[..., Any], fallback: Callable[..., Any]) -> Callable[..., Steps[Any, Any]]:
    """Return a mode whose result, where it is None or empty, is that of a fallback, called with the arguments it names.

    The fallback is the host's own: what it raises goes out. That of an `async def` question may be async.
    """
    steps, named = steps_of(mode), inspect.signature(fallback).parameters

    def otherwise(receivers: Sequence[Receiver[Any]], arguments: Mapping[str, Any]) -> Steps[Any, Any]:
        result = yield from steps(receivers, arguments)
        if result is None or (isinstance(result, (list, dict)) and not result):
            return fallback(**{name: arguments[name] for name in named})
        return result

    otherwise.__qualname__ = f"otherwise({_name(steps)})"
    return otherwise


# -- modes of one's own --------------------------------------------------------------------------------------------------


def steps_of(mode: Callable[..., Any]) -> Mode:
    """Return a mode as what is run: it gets the receivers and the arguments; a function of all answers becomes one.

    Raises:
        HookError: if it is not callable.
    """
    if not callable(mode):
        raise HookError(
            f"{mode!r:.60} is no mode: pass void, broadcast, firstresult, merge(...) or a function of the answers"
        )
    if mode in (merge, fold, unique, otherwise, *RULES.values()):
        raise HookError(f"{_name(mode)} is no mode: write modes.merge(key=rule), or modes.firstresult for the first answer")
    if mode in (void, broadcast, firstresult):
        return mode
    called = getattr(type(mode), "__call__", None)  # noqa: B004 - the method itself is wanted
    is_generator = any(map(inspect.isgeneratorfunction, (mode, called)))
    is_async = any(map(inspect.isasyncgenfunction, (mode, called)))
    if not is_generator and not is_async:
        return _named(lambda receivers, arguments: _of_all(mode, receivers), mode)
    count = len(inspect.signature(mode).parameters)
    run = mode if count > 1 else _named(lambda receivers, arguments: mode(receivers), mode)
    run.__dict__.setdefault("is_async_mode", is_async)
    return run


def _of_all(mode: Callable[[list[Any]], Any], receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
    return mode((yield from broadcast(receivers)))


def _named(steps: Any, mode: Any) -> Any:
    steps.__name__ = steps.__qualname__ = _name(mode)
    return steps
