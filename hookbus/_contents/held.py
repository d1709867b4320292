"""Read the contents of containers and objects as tuples in which every change is visible."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from .read_only import ReadOnlyDict, ReadOnlyList

Reader = Callable[[Any], Any]
"""A function that returns the current contents of a value as a tuple. In the tuple of a `dict`, the
keys precede the values. For a `set` or `bytearray`, the result is a copy.
"""

_namespace_of: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
_mro_of: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__

_BASES: Final = (OrderedDict, dict, list, tuple, deque)

_MISSING: Final = object()


def items_of(value: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the keys of a `dict`, followed by its values."""
    return (*value, *value.values())


READERS: Final[dict[type, Reader]] = {
    dict: items_of, ReadOnlyDict: items_of, list: tuple, ReadOnlyList: tuple, tuple: tuple,
    set: set.copy, bytearray: bytearray.copy,
}  # fmt: skip
"""The readers of containers that every hook uses, by exact type."""


ATOMS: Final[frozenset[type]] = frozenset({str, bytes, int, float, complex, bool, type(None)})
"""The types of values that contain no other values and cannot change."""


class ObjectReaders(dict[type, Reader]):
    """Readers for objects of classes with declared fields, and for subclasses of containers. The
    reader of a class is added when its first object appears.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(READERS)
        self._known = {*ATOMS}
        self.learn(values)

    def learn(self, values: Iterable[Any]) -> None:
        """Add readers for the classes of these values."""
        for kind in {*map(type, values)} - self._known:
            self._known.add(kind)
            if kind not in self and (reader := _ObjectReader(kind)).is_needed:
                self[kind] = reader


class _ObjectReader:
    """Reads the objects of one class. It does not run code of the class to read a declared field.

    Attributes:
        names: the fields that the class and its bases declare.
    """

    def __init__(self, kind: type) -> None:
        self.names = _fields_of(kind)
        self._base: Any = next((base for base in _BASES if issubclass(kind, base)), None)
        self.is_needed = bool(self.names) or self._base is not None

    def __call__(self, value: Any) -> tuple[Any, ...]:
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = {}
        held = [own[name] if name in own else _slot_of(value, name) for name in self.names]
        if self._base in (OrderedDict, dict):
            held += (*self._base.keys(value), *self._base.values(value))
        elif self._base is not None:
            held += self._base.__iter__(value)
        return tuple(held)


def _slot_of(value: Any, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except Exception:  # the field is not set
        return _MISSING


def _fields_of(kind: type) -> tuple[str, ...]:
    """Return the fields that a class declares with pydantic, dataclasses or attrs, and the fields
    that an adapter declares for a plain class.
    """
    names: dict[str, None] = {}
    for cls in _mro_of(kind):
        declared = _namespace_of(cls)
        if "__pydantic_fields__" in declared:
            names |= dict.fromkeys(declared["__pydantic_fields__"])
        if "__dataclass_fields__" in declared:
            names |= dict.fromkeys(each.name for each in fields(cls))
        if "__attrs_attrs__" in declared:
            names |= dict.fromkeys(each.name for each in declared["__attrs_attrs__"])
        names |= dict.fromkeys(declared.get("__hookbus_fields__", ()))
        if "__pydantic_extra__" in declared:
            names["__pydantic_extra__"] = None  # values of undeclared fields
    return (*names,)


def parts_of(held: tuple[Any, ...], reader: Reader) -> tuple[Any, ...]:
    """Return the contents of a value without the keys of a `dict`."""
    return held[len(held) // 2 :] if reader is items_of else held


def place_of(number: int, held: tuple[Any, ...], reader: Reader) -> str:
    """Return the location of one part as a Python expression, such as `['to']`."""
    if reader is items_of:
        return f"[{held[number]!r:.40}]"
    if isinstance(reader, _ObjectReader):
        return f".{reader.names[number]}" if number < len(reader.names) else ""
    return f"[{number}]"
