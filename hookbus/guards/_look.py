"""What a value holds: keys, fields and items at any depth, without changing or consuming it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import repeat
from numbers import Number
from os import PathLike
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from uuid import UUID

import attrs

from .. import HookError

DEEPEST: Final = 50
MOST: Final = 1_000_000
"""The number of values that are looked at in one call."""

SECONDS: Final = 1.0
"""The time that looking through the values of one call may take, of the processor: a busy machine
blocks no call.
"""

SHOWN: Final = 60
"""The number of characters of a key that are shown in a path."""

_ATOMS: Final = (
    str, bytes, bytearray, memoryview, Number, type(None), date, datetime, time_of_day, timedelta,
    tzinfo, UUID, PathLike, range, type, IPv4Address, IPv6Address, IPv4Network, IPv6Network,
)  # fmt: skip
"""Values that hold nothing else."""

Part = tuple[str | None, Any]

_NOTHING: Final[Iterable[Part]] = ()


class Leaf(NamedTuple):
    """A value that holds no others, or an object that cannot be looked into.

    Attributes:
        state: what the names on the way to it made of the first state.
        path: where it is, such as `files[0].name`.
        value: the value.
        is_opaque: whether it is an object that cannot be looked into.
    """

    state: Any
    path: str
    value: Any
    is_opaque: bool


def parts_of(value: Any) -> Iterable[Part] | None:
    """Return what a value holds, each with its name; keys and items have none. `_NOTHING` is for a
    value that holds no others, None for an object that cannot be looked into.
    """
    if value is None or isinstance(value, (str, int, float, bytes)):  # first: by far the most
        return _NOTHING
    if type(value) is list:  # of a subclass there may be fields, too
        return zip(repeat(None), value)
    if isinstance(value, Enum):
        return [(None, value.value)]
    if not isinstance(value, dict) and isinstance(value, _ATOMS):
        return _NOTHING
    if isinstance(value, Mapping):
        return _parts_of_mapping(value)
    fields = _fields(value)
    items = _items(value, has_fields=fields is not None)
    if fields is None and items is None:
        return None
    return [*(fields or {}).items(), *((None, each) for each in items or ())]


def walk(arguments: Any, state: Any, step: Callable[[Any, str], Any]) -> Iterator[Leaf]:
    """Yield the leaves of arguments: keys below the first level, fields and items at any depth.

    Args:
        arguments: a mapping of names to values.
        state: what is known at the top.
        step: from the state above a name and the name, the state below it.

    Raises:
        HookError: for what is not a mapping with strings as keys, or is too deep or too large.
    """
    if not isinstance(arguments, Mapping):
        raise HookError("the arguments are not a mapping of names to values")
    until, count = time.thread_time() + SECONDS, 0
    first: list[tuple[Any, str, Any]] = []
    for name, value in arguments.items():
        if not isinstance(name, str):
            raise HookError("the arguments have a key that is not a string")
        first.append((step(state, name), name[:SHOWN], value))
    stack = [iter(first)]
    while stack:
        if (top := next(stack[-1], None)) is None:
            stack.pop()
            continue
        count += 1
        if count > MOST or (not count % 1024 and time.thread_time() > until):
            raise HookError("the arguments are too large to be looked through")
        below, path, value = top
        parts = parts_of(value)
        if parts is None or parts is _NOTHING:
            yield Leaf(below, path, value, parts is None)
            continue
        if len(stack) > DEEPEST:
            raise HookError(f"the arguments are nested more than {DEEPEST} deep")
        stack.append(_below(parts, below, path, step))


def opaque(leaf: Leaf) -> HookError:
    """Return what is wrong with an object that cannot be looked into."""
    kind = type(leaf.value).__qualname__[:SHOWN]
    return HookError(f"{leaf.path} holds an object of {kind}, which cannot be looked into")


def digest(value: Any) -> bytes | None:
    """Return a digest of a value in canonical JSON, in which fields are as in a mapping; None where
    it has none.
    """
    try:
        text = as_json(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_json(value: Any, **options: Any) -> str:
    """Return a value as JSON; models of pydantic, dataclasses and attrs objects are mappings.

    Raises:
        TypeError: for an object that has no JSON, or keys that cannot be sorted.
        ValueError: for NaN, infinity, or what holds itself.
        RecursionError: for what is nested too deep.
    """
    return json.dumps(value, allow_nan=False, default=_plain, **options)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (UUID, date, time_of_day, PathLike)) and not isinstance(value, type):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    fields = None if isinstance(value, _ATOMS) else _fields(value)
    if fields is None:
        raise TypeError(f"{type(value).__name__} has no JSON")
    return fields


def _below(
    parts: Iterable[Part], state: Any, path: str, step: Callable[[Any, str], Any]
) -> Iterator[tuple[Any, str, Any]]:
    number = 0
    for name, value in parts:
        if name is None:
            yield state, f"{path}[{number}]", value
            number += 1
        else:
            yield step(state, name), f"{path}.{name[:SHOWN]}", value


def _parts_of_mapping(value: Mapping[Any, Any]) -> Iterator[Part]:
    # Keys first: no path in a reason then shows a key that has not been judged.
    yield from ((None, key) for key in value)
    for key, inner in value.items():
        yield (str.__str__(key) if isinstance(key, str) else None), inner


def _items(value: Any, *, has_fields: bool) -> Iterable[Any] | None:
    """Return what can be read of an iterable again and again; None where nothing can."""
    kind = type(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return () if has_fields and isinstance(value, tuple) else value
    if has_fields or not hasattr(kind, "__iter__"):
        return None
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        return None  # half a mapping: its items are not all that it holds
    if isinstance(value, Collection):
        return value
    first, second = iter(value), iter(value)
    return None if first is value or first is second else value


def _fields(value: Any) -> dict[str, Any] | None:
    """Return what an object of a known kind has, by name; None for an object of another kind."""
    kind = type(value)
    names: Iterable[str] = ()
    if hasattr(kind, "model_fields") or hasattr(kind, "__fields__"):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        private = getattr(value, "__pydantic_private__", None) or {}
        return {**vars(value), **extra, **private}
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
    elif isinstance(value, tuple) and hasattr(kind, "_fields"):
        return {**dict(zip(kind._fields, value, strict=False)), **_own(value, ())}
    elif hasattr(kind, "__struct_fields__"):
        names = kind.__struct_fields__
    elif not isinstance(value, SimpleNamespace):
        return None
    return _own(value, names)


def _own(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the named fields of an object, and whatever else it keeps itself."""
    slots = [each for kind in type(value).__mro__ for each in _slots(kind)]
    found = {name: getattr(value, name) for name in (*names, *slots) if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    several = [slots] if isinstance(slots, str) else slots
    return [each for each in several if each not in ("__dict__", "__weakref__")]
