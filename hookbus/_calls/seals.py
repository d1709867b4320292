"""Seals: what the plain containers of a call hold when its guards judge them, and whether they
still hold it when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import is_
from typing import Any, Final, NoReturn

import attrs

from ..exceptions import HookError
from .contents import ReadOnlyDict, ReadOnlyList
from .context import Call
from .outcome import block
from .plan import Seat, seat_of_guard
from .telling import tell_failed
from .verdicts import Block

__tracebackhide__: Final = True

_DICTS: Final = frozenset({dict, ReadOnlyDict})
_LISTS: Final = frozenset({list, ReadOnlyList, tuple})

CONTAINERS: Final = _DICTS | _LISTS | {set, bytearray}
"""The types whose contents are sealed, exactly these; a tuple only for what is inside."""

_VALUES: Final = frozenset({str, bytes, int, float, complex, bool, type(None)})

Seal = list[tuple[Any, Any]]
"""Each container that was reached, outermost first, and what it held: a tuple, of a `dict` first of
its keys and then of its values; a copy of a `set` or `bytearray`.
"""


def sealed_contents(values: Iterable[Any]) -> Seal:
    """Return the seal of what these values hold, at any depth."""
    seal: Seal = []
    seen: set[int] = set()
    pending = [value for value in values if type(value) in CONTAINERS]
    for value in pending:  # it grows meanwhile
        if (number := id(value)) in seen:
            continue
        seen.add(number)
        held = _held_by(value)
        seal.append((value, held))
        if type(held) is tuple and not CONTAINERS.isdisjoint(map(type, held)):
            pending += [each for each in held if type(each) in CONTAINERS]
    return seal


def _held_by(value: Any) -> Any:
    kind = type(value)
    try:
        if kind in _DICTS:
            return (*value, *value.values())
        return tuple(value) if kind in _LISTS else value.copy()
    except RuntimeError as error:  # a thread writes into it just now
        raise HookError(f"an argument is written while it is judged: {error}") from None


def is_broken(seal: Seal) -> bool:
    """Tell whether a container holds anything else than when it was sealed."""
    for value, held in seal:
        kind = type(value)
        try:
            now = (*value, *value.values()) if kind in _DICTS else value
            if type(held) is tuple:
                is_same = len(now) == len(held) and all(map(is_, now, held))
            else:
                is_same = now == held and {*map(_typed, now)} == {*map(_typed, held)}
            if not is_same and next(_changes(value, held), None) is not None:
                return True
        except Exception:  # written by a thread just now, or an element that cannot be compared
            return True
    return False


def _changes(value: Any, held: Any) -> Iterator[str]:
    """Name what differs, as it is written behind the container: `['to']`."""
    kind = type(value)
    if kind in _DICTS:
        count = len(held) // 2
        keys, before = held[:count], dict(zip(held[:count], held[count:]))
        if [*map(_typed, value)] != [*map(_typed, keys)]:
            odd = [key for key in (*value, *keys) if key not in value or key not in before]
            yield f"[{odd[0]!r:.40}]" if odd else ""
        pairs: Iterable[tuple[Any, Any, Any]] = ((key, value[key], before[key]) for key in keys)
    elif kind in _LISTS:
        if len(value) != len(held):
            yield ""
        pairs = zip(range(len(held)), value, held)
    else:
        yield ""
        return
    for key, now, then in pairs:
        if now is not then and not _is_equal(now, then):
            yield f"[{key!r:.40}]"


def _typed(key: Any) -> tuple[type, Any]:
    return type(key), key  # 1, 1.0 and True are equal, and not the same to any method


def _is_equal(now: Any, before: Any) -> bool:
    """Tell whether two values that cannot change are the same to any method."""
    kind = type(now)
    return kind is type(before) and kind in _VALUES and repr(now) == repr(before)


def break_seal(call: Call, seal: Seal, values: dict[str, Any], phase: str) -> NoReturn:
    """Block a call whose contents were changed after its guards judged them. That is one failure,
    of the receivers that ran in between.

    Args:
        values: what was sealed, by name: the arguments, or `"result"` or `"item"`.
        phase: whose guards judged them.
    """
    suspects = _suspects(call, phase)
    for each in suspects:
        each.receiver.seals_broken += 1
    names = ", ".join(dict.fromkeys(each.receiver.name for each in suspects))
    reason = (
        f"{_place_of(seal, values)} was changed in place after it was judged; since then ran "
        f"{names}"
    )
    judge, last = suspects[0], suspects[-1]
    seat = seat_of_guard(judge.signal, _sealed, last.receiver.function, name=names)
    seat = attrs.evolve(seat, phase=phase)
    seat.receiver.is_logged = last.receiver.seals_broken > 1
    try:
        raise HookError(reason)
    except HookError as error:
        tell_failed(call, seat, error, "blocked")
    block(call, seat, Block(reason, code="changed"))


def _sealed(_: object) -> None:
    """Stand for the receivers that ran after a seal was taken."""


def _suspects(call: Call, phase: str) -> list[Seat]:
    """Return the receivers that ran since the seal was taken, and may have written."""
    phases = call.plan.phases
    later = {"pre": phases["around"].modify, "post": phases["finally"].observe}
    return [*phases[phase].guard, *phases[phase].observe, *later.get(phase, ())]


def _place_of(seal: Seal, values: dict[str, Any]) -> str:
    """Return where the first change is, such as `arguments['to']`."""
    places = {id(value): name for name, value in values.items()}
    for value, held in seal:
        place = places.setdefault(id(value), "an argument")
        pairs: Any = enumerate(held) if type(value) in _LISTS else ()
        if type(value) in _DICTS:
            count = len(held) // 2
            pairs = zip(held[:count], held[count:])
        for key, each in pairs:
            places.setdefault(id(each), f"{place}[{key!r:.40}]")
        try:
            change = next(_changes(value, held), None) if is_broken([(value, held)]) else None
        except Exception:
            change = ""
        if change is not None:
            return place + change
    return "an argument"
