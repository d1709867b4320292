"""Answers that are allowed and probably not meant so: noted of their receiver, for `report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .._connections.failures import WARNING, log
from ..exceptions import article
from .plan import Seat

_LONGEST_KEY: Final = 40
_DEEPEST: Final = 8


def note_lost_keys(seat: Seat, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Note the keys that arguments had before a receiver changed them, and have no more."""
    for name, value in after.items():
        if value is not before.get(name):
            with_keys(seat, name, before.get(name), value)


def with_keys(seat: Seat, name: str, before: Any, after: Any) -> Any:
    """Return what an argument becomes. Where it is a dict that lost keys, note that: what a patch
    names is put in its place, and not merged.
    """
    if _is_other_dict(before, after):
        _look_for_lost(seat, name, "", before, after)
    return after


def _is_other_dict(before: Any, after: Any) -> bool:
    is_dict = issubclass(type(before), dict) and issubclass(type(after), dict)
    return is_dict and after is not before


def _look_for_lost(seat: Seat, name: str, place: str, before: Any, after: Any) -> None:
    """Note the keys that a dict lost, and those that the dicts in it lost."""
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
    said = f"left {lost} out of {where}, which had it: to keep it, write {write}"
    if receiver.remark(said) and is_new:
        log(WARNING, f"{receiver.label} on {seat.signal.name} {said} (logged once)")


def _is_new(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Tell whether nothing of a dict is what it was, as where only what changes was written."""
    return all(
        dict.__getitem__(before, key) is not value
        for key, value in dict.items(after) if key in dict.keys(before)
    )  # fmt: skip


def _key(key: object) -> str:
    """Return a key as it may be shown: a name; anything else may be data."""
    is_name = type(key) is str and key.isidentifier() and len(key) <= _LONGEST_KEY
    return repr(key) if is_name else "a key"


def note_bool(seat: Seat, before: Any) -> None:
    """Note that a receiver without a role gave a bool, where the result or item was none."""
    receiver, kind = seat.receiver, type(before)
    if kind is not bool and receiver.options.role is None and receiver.role == "modify":
        had = "None" if before is None else article(kind.__name__)
        verdict = "return Block(reason) and connect it with role='guard'"
        receiver.remark(
            f"put a bool in the place of {had}: to judge it, {verdict}; to change it, write "
            "role='modify' or return Replace(result)"
        )

