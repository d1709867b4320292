"""Lists the parts of a value: keys, fields, items and other attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from enum import Enum
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import repeat
from numbers import Number
from os import PathLike, fspath
from pathlib import PurePath
from sys import modules
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import attrs

from .._contents.read_only import ReadOnlyDict, ReadOnlyList

ATOMS: Final = (
    str, bytes, bytearray, memoryview, Number, type(None), date, datetime, time_of_day, timedelta,
    tzinfo, UUID, PurePath, range, type, IPv4Address, IPv6Address, IPv4Network, IPv6Network,
)  # fmt: skip
"""The types of values without parts, except for attributes of an instance of a subclass."""

PLAIN: Final = (str, int, float, bool, bytes, type(None))

_OF_ENUMS: Final = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})

Part = tuple[str | None, Any]

NOTHING: Final[Iterable[Part]] = ()


def parts_of(value: Any) -> Iterable[Part] | None:
    """Return the parts of a value with their names. Keys and items have no name. Return `NOTHING`
    for a value without parts, and None for an object that cannot be inspected.
    """
    kind = type(value)
    if kind in PLAIN:  # first: the most frequent case
        return NOTHING
    if kind is list or kind is ReadOnlyList:
        return zip(repeat(None), value)
    if kind is dict or kind is ReadOnlyDict:
        return _parts_of_mapping(value)
    if isinstance(value, ATOMS):
        return _parts_of_atom(value)
    if isinstance(value, Enum):
        return [(None, value.value), *_own_of_enum(value)]
    if isinstance(value, Mapping):
        return [*_parts_of_mapping(value), *_attributes(value, is_known=isinstance(value, dict))]
    if isinstance(value, _urls()):
        return [(None, str(value))]
    if isinstance(value, PathLike):  # a custom class may contain more than its path
        return [(None, fspath(value)), *_own(value, ()).items()]
    fields = fields_of(value)
    items = _items(value, has_fields=fields is not None)
    if fields is None and items is None:
        return None
    known = [*fields.items(), *_properties(value)] if fields is not None else None
    own = _attributes(value, isinstance(value, _LISTS)) if known is None else known
    return [*own, *((None, each) for each in items or ())]


class Aside:
    """An attribute of a custom iterable, besides its items. If it cannot be inspected, it is
    treated as internal to its class.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Property:
    """A property of an object, which is read only on request because its code may be slow."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def read(self, name: str) -> Any:
        """Return the value of the property. If reading it fails, return this object, which cannot
        be inspected."""
        try:
            return getattr(self._owner, name)
        except Exception:
            return self


def _parts_of_mapping(value: Mapping[Any, Any]) -> Iterator[Part]:
    items = list(dict.items(value)) if isinstance(value, dict) else list(value.items())
    # Keys first, so that a path in a reason never shows an unchecked key.
    for key, _ in items:
        yield None, key
    for key, inner in items:
        yield (key if type(key) is str else _name_of(key)), inner


def _name_of(key: Any) -> str | None:
    """Return the name by which a tool may read a key, or None if the key is not a name."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    return key.decode("latin-1") if isinstance(key, bytes) else None


def _parts_of_atom(value: Any) -> Iterable[Part]:
    """Return the value and the attributes of an instance of a subclass of an atomic type."""
    own = {**getattr(value, "__dict__", {})} if not isinstance(value, type) else {}
    if isinstance(value, Enum):
        own = {"": value.value, **dict(_own_of_enum(value))}
    if not own:
        return NOTHING
    text = fspath(value) if isinstance(value, PurePath) else bare(value)
    plain = [(None, text)] if isinstance(text, (str, bytes)) else []
    return [*plain, *((name or None, each) for name, each in own.items())]


def bare(value: Any) -> Any:
    """Return the real content of a string or bytes, ignoring overrides in subclasses. Return any
    other value unchanged.
    """
    if isinstance(value, str):
        return str.__str__(value)
    return bytes.__getitem__(value, slice(None)) if isinstance(value, bytes) else value


def _own_of_enum(value: Enum) -> list[Part]:
    return [(name, each) for name, each in vars(value).items() if name not in _OF_ENUMS]


def _attributes(value: Any, is_known: bool) -> list[Part]:
    """Return the attributes of a container, without its contents.

    Args:
        value: the container.
        is_known: whether no attribute stores the contents. In this case, every attribute is
            checked. Otherwise, attributes that cannot be inspected are treated as internal.
    """
    own = _own(value, ())
    return [(name, each if is_known else Aside(each)) for name, each in own.items()]


_LISTS: Final = (list, tuple, set, frozenset)


def _items(value: Any, *, has_fields: bool) -> Iterable[Any] | None:
    """Return the items of an iterable that can be read repeatedly, or None for other objects."""
    kind = type(value)
    for known in _LISTS:
        if isinstance(value, known):  # ignore overrides of a subclass
            iterate: Any = known.__iter__
            return () if has_fields and known is tuple else list(iterate(value))
    if has_fields or not hasattr(kind, "__iter__"):
        return None
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        return None  # an incomplete mapping: its keys are not all of its content
    first, second = iter(value), iter(value)
    return None if first is value or first is second else value


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of an object by name, or None if the type of the object is not
    supported."""
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
    """Return the named fields of an object, and its other attributes."""
    slots = [each for kind in type(value).__mro__ for each in _slots(kind)]
    found = {name: getattr(value, name) for name in (*names, *slots) if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    several = [slots] if isinstance(slots, str) else slots
    return [_mangled(each, kind) for each in several if each not in ("__dict__", "__weakref__")]


def _mangled(name: str, kind: type) -> str:
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if is_private else name


def _properties(value: Any) -> Iterator[Part]:
    """Yield the public properties of an object with fields, which are read only on request."""
    for kind in type(value).__mro__:
        if kind.__module__.partition(".")[0] in ("builtins", "pydantic", "typing"):
            continue
        for name, each in vars(kind).items():
            if isinstance(each, (property, cached_property)) and not name.startswith("_"):
                yield name, Property(value)


def _urls() -> tuple[type, ...]:
    """Return the URL classes that the program has loaded. Their string form contains all of their
    content.
    """
    several = [getattr(modules.get(name), kind, None) for name, kind in _ADDRESSES]
    return tuple(each for each in several if isinstance(each, type))


_ADDRESSES: Final = (
    ("pydantic.networks", "_BaseUrl"), ("pydantic.networks", "_BaseMultiHostUrl"),
    ("pydantic_core", "Url"), ("pydantic_core", "MultiHostUrl"), ("yarl", "URL"), ("httpx", "URL"),
)  # fmt: skip
