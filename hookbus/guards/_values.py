"""Texts in values of any depth, changed: a copy, or the very object where nothing changed."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import Any, Final

import attrs

from .. import HookError

DEEPEST: Final = 50


def changed(value: Any, change: Callable[[str], str], depth: int = 0) -> Any:
    """Return a value with its texts changed, those of keys, bytes and long numbers, too.

    It looks into mappings, lists, tuples, sets, models of pydantic, dataclasses and attrs classes;
    another object is as it was.

    Raises:
        HookError: for what is nested too deep, or for two keys that would be one.
    """
    if depth > DEEPEST:
        raise HookError(f"it is nested more than {DEEPEST} deep")
    if isinstance(value, str):
        text = str.__str__(value)
        new = change(text)
        return value if new == text else new
    if isinstance(value, (bytes, bytearray)):
        text = value.decode("latin-1").replace("\0", "")
        new = change(text)
        return value if new == text else new.encode()
    if isinstance(value, (int, float)) and abs(value) >= 10**12:
        text = repr(value)
        new = change(text)
        return value if new == text else new
    if isinstance(value, Mapping):
        return _mapping(value, change, depth + 1)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = list(value)
        new_items = [changed(each, change, depth + 1) for each in items]
        return value if _same(items, new_items) else _made(value, new_items)
    return _object(value, change, depth + 1)


def _mapping(value: Mapping[Any, Any], change: Callable[[str], str], depth: int) -> Any:
    keys, items = list(value), list(value.values())
    new_keys = [changed(each, change, depth) for each in keys]
    new_items = [changed(each, change, depth) for each in items]
    if _same([*keys, *items], [*new_keys, *new_items]):
        return value
    new = dict(zip(new_keys, new_items, strict=True))
    if len(new) < len(keys):
        raise HookError("two keys of a mapping would be one")
    return new


def _object(value: Any, change: Callable[[str], str], depth: int) -> Any:
    old = _fields(value)
    new = {name: changed(each, change, depth) for name, each in old.items()}
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
    for name, each in update.items():
        object.__setattr__(copied, name, each)
    return copied


def _fields(value: Any) -> dict[str, Any]:
    """Return what an object of a kind that is known has, by name."""
    kind = type(value)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_copy"):
        return {**_kept(value), **dict(value)}
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
    else:
        return {}
    return {**_kept(value), **{name: getattr(value, name) for name in names}}


def _kept(value: Any) -> dict[str, Any]:
    """Return what an object has besides its fields: what `__post_init__` set, or a cached property.
    """
    slots = [getattr(kind, "__slots__", ()) for kind in type(value).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    kept = {
        name: getattr(value, name)
        for name in names
        if not name.startswith("__") and _is_set(value, name)
    }
    private = getattr(value, "__pydantic_private__", None) or {}
    return {**kept, **getattr(value, "__dict__", {}), **private}


def _is_set(value: Any, name: str) -> bool:
    """Tell whether a slot has a value, without asking for one that would be made first."""
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
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _same(old: list[Any], new: list[Any]) -> bool:
    return all(one is other for one, other in zip(old, new, strict=True))
