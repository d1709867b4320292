"""Copies values with changed strings, at any depth."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, Final

import attrs

from .. import HookError
from ._parts import ATOMS

DEEPEST: Final = 50

_LISTS: Final = (list, tuple, set, frozenset, deque)
_NUMBERS: Final = (int, float, Decimal)

Change = Callable[[str], str]
Note = Callable[[Any], object]


def changed(value: Any, change: Change, depth: int = 0, unseen: Note = id) -> Any:
    """Return a value with changed strings, including keys, bytes, paths and long numbers, or the
    same object if nothing changes.

    The function scans mappings, lists, tuples, sets, deques, collections of other classes, pydantic
    models, dataclasses, attrs objects and namespaces. Other objects are returned unchanged.

    Args:
        value: the value to scan.
        change: returns the replacement of a string.
        depth: the nesting depth of the value.
        unseen: called with every object that cannot be scanned.

    Raises:
        HookError: if the value is nested too deeply, two keys would become equal, or a string that
            must change cannot be replaced.
    """
    if depth > DEEPEST:
        raise HookError(f"the value is nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        text = str.__str__(value)
        new = change(text)
        return _with_own(value, change, depth, unseen) if new == text else new
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(value, change)
    if isinstance(value, _NUMBERS):
        text = repr(value) if not isinstance(value, Decimal) else str(value)
        new = change(text) if len(text) > 12 else text
        return value if new == text else new
    if isinstance(value, PurePath):
        text = str(value)
        new = change(text)
        return value if new == text else type(value)(new)
    if isinstance(value, Mapping):
        return _mapping(value, change, depth + 1, unseen)
    if isinstance(value, _LISTS):
        items = list(value)
        new_items = [changed(each, change, depth + 1, unseen) for each in items]
        if not _same(items, new_items):
            return _made(value, new_items)
        return _with_own(value, change, depth, unseen)
    return _object(value, change, depth + 1, unseen)


def _bytes(value: bytes | bytearray | memoryview, change: Change) -> Any:
    # Bytes outside UTF-8 must not decode to letters, which could hide an adjacent match.
    text = bytes(value).decode("utf-8", "surrogateescape").replace("\0", "")
    new = change(text)
    return value if new == text else new.encode("utf-8", "surrogateescape")


def _mapping(value: Mapping[Any, Any], change: Change, depth: int, unseen: Note) -> Any:
    keys, items = list(value), list(value.values())
    new_keys = [changed(each, change, depth, unseen) for each in keys]
    new_items = [changed(each, change, depth, unseen) for each in items]
    if _same([*keys, *items], [*new_keys, *new_items]):
        return _with_own(value, change, depth, unseen) if isinstance(value, dict) else value
    new = dict(zip(new_keys, new_items, strict=True))
    if len(new) < len(keys):
        raise HookError("two keys of a mapping would become equal")
    return new


def _with_own(value: Any, change: Change, depth: int, unseen: Note) -> Any:
    """Return an instance of a subclass of str or of a container with changed attributes."""
    old = {} if type(value) in _WITHOUT else _kept(value)
    return _with_fields(value, old, change, depth + 1, unseen) if old else value


_WITHOUT: Final = (str, dict, *_LISTS)


def _object(value: Any, change: Change, depth: int, unseen: Note) -> Any:
    if value is None or isinstance(value, ATOMS):
        return value
    if isinstance(value, Enum):
        return _only_if_same(value, [value.value], change, depth, unseen)
    if isinstance(value, BaseException):
        return _only_if_same(value, [value.args, _kept(value)], change, depth, unseen)
    if (old := _fields(value)) is not None:
        return _with_fields(value, old, change, depth, unseen)
    if isinstance(value, Collection) and iter(value) is not iter(value):
        new = _only_if_same(value, list(value), change, depth, unseen)
        return _with_fields(new, _kept(value), change, depth, unseen) if new is value else new
    unseen(value)
    return value


def _only_if_same(value: Any, parts: list[Any], change: Change, depth: int, unseen: Note) -> Any:
    """Return the value if its strings need no change, and otherwise a list of the changed parts.
    Raise HookError for an enum or an exception that would change."""
    new = [changed(each, change, depth, unseen) for each in parts]
    if _same(parts, new):
        return value
    if isinstance(value, (Enum, BaseException)):
        raise HookError(f"a {type(value).__name__} contains a string that cannot be replaced")
    return new


def _with_fields(value: Any, old: dict[str, Any], change: Change, depth: int, unseen: Note) -> Any:
    new = {name: changed(each, change, depth, unseen) for name, each in old.items()}
    update = {name: each for name, each in new.items() if each is not old[name]}
    if not update:
        return value
    if hasattr(type(value), "model_copy"):
        private = getattr(value, "__pydantic_private__", None) or {}
        rest = {name: each for name, each in update.items() if name not in private}
        made = value.model_copy(update=rest)
        for name in update.keys() - rest.keys():
            made.__pydantic_private__[name] = update[name]
        return made
    copied = copy.copy(value)
    if (own := getattr(value, "__dict__", None)) and vars(copied) is own:  # pydantic version 1
        object.__setattr__(copied, "__dict__", dict(own))
    for name, each in update.items():
        object.__setattr__(copied, name, each)
    return copied


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of an object by name, or None if the type of the object is not
    supported."""
    kind = type(value)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_copy"):
        return {**_kept(value), **dict(value)}
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
    elif hasattr(kind, "__struct_fields__"):
        names = list(kind.__struct_fields__)
    elif hasattr(kind, "__fields__") or isinstance(value, SimpleNamespace):
        names = []
    else:
        return None
    return {**_kept(value), **{name: getattr(value, name) for name in names}}


def _kept(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that are not fields, such as attributes that
    `__post_init__` sets."""
    slots = [getattr(kind, "__slots__", ()) for kind in type(value).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    attributes = {
        name: getattr(value, name)
        for name in names
        if not name.startswith("__") and _is_set(value, name)
    }
    private = getattr(value, "__pydantic_private__", None) or {}
    return {**attributes, **getattr(value, "__dict__", {}), **private}


def _is_set(value: Any, name: str) -> bool:
    """Return whether a slot has a value, without computing a value."""
    for kind in type(value).__mro__:
        if isinstance(slot := kind.__dict__.get(name), MemberDescriptorType):
            try:
                slot.__get__(value, kind)
            except AttributeError:
                return False
            return True
    return False


def _made(value: Any, items: list[Any]) -> Any:
    kind = type(value)
    if kind is deque:
        return deque(items, value.maxlen)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _same(old: list[Any], new: list[Any]) -> bool:
    return all(one is other for one, other in zip(old, new, strict=True))
