"""Record the contents of plain containers when guards check a call (a seal), and detect changes
before the method runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any, Final, NoReturn

import attrs

from .._connections.verdicts import Block
from .._contents.held import ATOMS, READERS, ObjectReaders, Reader, items_of, parts_of, place_of
from ..exceptions import HookError
from .context import Call
from .emitting import emit_failed
from .outcome import block
from .plan import Seat, seat_of_guard

__tracebackhide__: Final = True

CONTAINERS: Final = frozenset(READERS)
"""The exact types whose contents are sealed. A tuple is included because of its items."""

Seal = list[tuple[Any, Any, Reader]]
"""Each container or object that was found, outermost first, with its contents and its reader."""


def sealed_contents(values: Iterable[Any], readers: dict[type, Reader] = READERS) -> Seal:
    """Return the seal of the contents of these values at any depth, for all types that have a
    reader.

    Raises:
        HookError: if another thread is writing to one of the values.
    """
    seal: Seal = []
    seen: set[int] = set()
    kinds = readers.keys()
    pending = [value for value in values if type(value) in kinds]
    for value in pending:  # the loop body appends to this list
        if (number := id(value)) in seen:
            continue
        seen.add(number)
        reader = readers[type(value)]
        try:
            held = reader(value)
        except RuntimeError as error:
            raise HookError(f"an argument was changed while guards checked it: {error}") from None
        seal.append((value, held, reader))
        if type(held) is tuple:
            if isinstance(readers, ObjectReaders):
                readers.learn(held)
            if not kinds.isdisjoint(map(type, held)):
                pending += [each for each in held if type(each) in kinds]
    return seal


def sealed_objects(objects: tuple[Any, ...], values: tuple[Any, ...] = ()) -> Seal:
    """Return the seal of objects, including their declared fields, and of the containers in other
    values. Raise HookError as `sealed_contents` does.
    """
    return sealed_contents(objects, ObjectReaders(objects)) + sealed_contents(values)


def is_broken(seal: Seal) -> bool:
    """Return whether a container or object has changed since its seal was created."""
    for value, held, reader in seal:
        try:
            now = reader(value)
            if type(held) is tuple:
                is_same = len(now) == len(held) and all(map(is_, now, held))
            else:
                is_same = now == held and {*map(_typed, now)} == {*map(_typed, held)}
            if not is_same and _change(now, held, reader) is not None:
                return True
        except Exception:  # a thread is writing to it, or an element cannot be compared
            return True
    return False


def _change(now: Any, held: Any, reader: Reader) -> str | None:
    """Return the first location that differs as a Python expression, or None."""
    if type(held) is not tuple or (reader is not items_of and len(now) != len(held)):
        return ""
    if reader is items_of:
        keys, before = now[: len(now) // 2], held[: len(held) // 2]
        if [*map(_typed, keys)] != [*map(_typed, before)]:
            odd = {*keys} ^ {*before}
            return next((f"[{key!r:.40}]" for key in (*keys, *before) if key in odd), "")
    parts = zip(parts_of(held, reader), parts_of(now, reader))
    for number, (old, new) in enumerate(parts):
        if new is not old and not _is_equal(new, old):
            return place_of(number, held, reader)
    return None


def _typed(key: Any) -> tuple[type, Any]:
    return type(key), key  # 1, 1.0 and True are equal, but a method can distinguish them


def _is_equal(now: Any, before: Any) -> bool:
    """Return whether two immutable values are equal in a way that no method can distinguish."""
    kind = type(now)
    return kind is type(before) and kind in ATOMS and repr(now) == repr(before)


def break_seal(call: Call, seal: Seal, values: dict[str, Any], phase: str) -> NoReturn:
    """Block a call because contents were changed after its guards checked them. The `seals_broken`
    counter of each receiver that ran in between is increased.

    Args:
        values: the sealed values by name. The names are those of the arguments, or `"result"` or
            `"item"`.
        phase: the phase of the guards that checked the contents.
    """
    suspects = _suspects(call, phase)
    for each in suspects:
        each.receiver.seals_broken += 1
    names = ", ".join(dict.fromkeys(each.receiver.name for each in suspects))
    reason = (
        f"{_place_of(seal, values)} was changed in place after the guards checked it; these "
        f"receivers ran since then: {names}"
    )
    judge, last = suspects[0], suspects[-1]
    seat = seat_of_guard(judge.signal, _sealed, last.receiver.function, name=names)
    seat = attrs.evolve(seat, phase=phase)
    seat.receiver.is_logged = last.receiver.seals_broken > 1
    try:
        raise HookError(reason)
    except HookError as error:
        emit_failed(call, seat, error, "blocked")
    block(call, seat, Block(reason, code="changed"))


def _sealed(_: object) -> None:
    """Represents the receivers that ran after a seal was taken."""


def _suspects(call: Call, phase: str) -> list[Seat]:
    """Return the receivers that ran after the seal was created and may have changed the contents.
    """
    phases = call.plan.phases
    later = {"pre": phases["around"].modify, "post": phases["finally"].observe}
    return [*phases[phase].guard, *phases[phase].observe, *later.get(phase, ())]


def _place_of(seal: Seal, values: dict[str, Any]) -> str:
    """Return the first location that changed, such as `arguments['to']`."""
    places = {id(value): name for name, value in values.items()}
    for value, held, reader in seal:
        place = places.setdefault(id(value), "an argument")
        if type(held) is tuple:
            for number, each in enumerate(parts_of(held, reader)):
                places.setdefault(id(each), place + place_of(number, held, reader))
        try:
            is_changed = is_broken([(value, held, reader)])
            change = _change(reader(value), held, reader) if is_changed else None
        except Exception:
            change = ""
        if change is not None:
            return place + change
    return "an argument"
