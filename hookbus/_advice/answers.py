"""Record answers that are allowed but probably a mistake, for `report`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from .._calls.plan import Seat
from .._connections.failures import WARNING, log
from .._ground.errors import article, name_of_class

_LONGEST_KEY: Final = 40
_DEEPEST: Final = 8


def with_keys(seat: Seat, name: str, before: Any, after: Any) -> Any:
    """Return the new value of an argument. If the value is a dict with fewer keys than before,
    record the lost keys, because a patch replaces a dict and does not merge it.
    """
    if _is_other_dict(before, after):
        with suppress(Exception):  # the keys may be any objects, so their own code may raise
            _look_for_lost(seat, name, "", before, after)
    return after


def _is_other_dict(before: Any, after: Any) -> bool:
    is_dict = issubclass(type(before), dict) and issubclass(type(after), dict)
    return is_dict and after is not before


def _look_for_lost(seat: Seat, name: str, place: str, before: Any, after: Any) -> None:
    """Record the keys that a dict and its nested dicts lost."""
    if lost := dict.keys(before) - dict.keys(after):
        _note_lost(seat, name, place, sorted(map(_key, lost)), _is_new(before, after))
    if place.count("[") < _DEEPEST:
        for key, value in dict.items(after):
            if _is_other_dict(dict.get(before, key), value):
                inside = f"{place}[{_key(key)}]"
                _look_for_lost(seat, name, inside, dict.__getitem__(before, key), value)


def _note_lost(seat: Seat, name: str, place: str, keys: list[str], is_new: bool) -> None:
    receiver = seat.receiver
    lost = ", ".join([*keys[:3], *(["..."] if len(keys) > 3 else [])])
    instead = f"{{**{name}{place}, ...}}"
    write = f"call_next({name}={instead})" if seat.phase == "around" else f"{{{name!r}: {instead}}}"
    where = f"{name}{place}" if place else repr(name)
    if place:
        write = instead
    said = f"dropped {lost} from {where}, which the new value replaces: to keep it, write {write}"
    if receiver.remark(said) and is_new:
        log(WARNING, f"{receiver.label} on {seat.signal.name} {said} (logged once)")


def _is_new(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Return whether all values of a dict are new, which suggests that it contains only the
    intended changes.
    """
    return all(
        dict.__getitem__(before, key) is not value
        for key, value in dict.items(after) if key in dict.keys(before)
    )  # fmt: skip


def _key(key: object) -> str:
    """Return a key in the form for a message. Only keys that are identifiers are shown, because
    other keys may be data.
    """
    is_name = type(key) is str and key.isidentifier() and len(key) <= _LONGEST_KEY
    return repr(key) if is_name else "a key"


def note_bool(seat: Seat, before: Any) -> None:
    """Record that a receiver without a role replaced a result, which was not a bool, with a bool.
    """
    receiver = seat.receiver
    if receiver.options.role is None and receiver.role == "modify":
        had = "None" if before is None else article(str(name_of_class(type(before))))
        verdict = "return Block(reason) and connect it with role='guard'"
        receiver.remark(
            f"replaced {had} by a bool: to judge it, {verdict}; to replace it, write "
            "role='modify' or return Replace(result)"
        )

