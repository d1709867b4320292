"""Represents OpenClaw's values in Python: missing values, null, deep copies, and read-only
values."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from copy import deepcopy
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NoReturn

from hookbus import HookError


class _Mark:
    """A sentinel value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> _Mark:
        return self

    def __deepcopy__(self, memo: Any) -> _Mark:
        return self


NULL: Final[Any] = _Mark("NULL")
"""The value that a handler returns for TypeScript's `null`. None represents `undefined`, which
means no result."""

MISSING: Final[Any] = _Mark("MISSING")
"""The value of a missing key."""


class IsolationError(HookError):
    """An event cannot be copied for a handler, so no handler may see the event. This error is
    raised under every failure policy."""


# -- reading ---------------------------------------------------------------------------------------


def get(value: Any, key: str) -> Any:
    """Return the value of a key, or MISSING if the object is not a mapping or lacks the key."""
    return value.get(key, MISSING) if isinstance(value, Mapping) else MISSING


def is_nullish(value: Any) -> bool:
    """Return whether a value is missing or null."""
    return value is None or value is MISSING or value is NULL


def is_truthy(value: Any) -> bool:
    """Return whether a value counts as true in TypeScript, where empty lists and objects also
    do."""
    if isinstance(value, (Mapping, list, tuple, set)):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same object, or equal primitive values."""
    plain = (str, int, float, bool)
    return one is other or (isinstance(one, plain) and isinstance(other, plain) and one == other)


def without_missing(**items: Any) -> dict[str, Any]:
    """Return the items that are not MISSING."""
    return {key: value for key, value in items.items() if value is not MISSING}


def first(earlier: Any, later: Any) -> Any:
    """Return the earlier value, unless it is missing or null."""
    return later if is_nullish(earlier) else earlier


def last(earlier: Any, later: Any) -> Any:
    """Return the later value, unless it is missing or null."""
    return earlier if is_nullish(later) else later


def sticky(earlier: Any, later: Any) -> Any:
    """Return True if any value is exactly True, and otherwise MISSING."""
    return True if earlier is True or later is True else MISSING


def joined(earlier: Any, later: Any) -> Any:
    """Join two strings with a blank line. An explicit empty later string replaces the earlier
    string."""
    if is_truthy(earlier) and is_truthy(later):
        return f"{earlier}\n\n{later}"
    return earlier if is_nullish(later) else later


def spread(value: Any) -> dict[str, Any]:
    """Return the items that a value contributes if TypeScript spreads it into an object."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (str, list, tuple)):
        return {str(place): item for place, item in enumerate(value)}
    return {}


# -- copies ----------------------------------------------------------------------------------------


def clone(value: Any, hook: str) -> Any:
    """Return a deep copy that shares no object with the value.

    Raises:
        IsolationError: if an object in the value cannot be copied, or its copy would share state,
            such as a function, a lock or shared memory.
    """
    try:
        _refuse_shared(value, set())
        memo: dict[int, Any] = {}
        copied = deepcopy(value, memo)
        if any(_is_shared_memory(each) for each in memo.values()):
            raise TypeError("shared memory cannot be isolated")
    except Exception as cause:
        raise IsolationError(f"[hooks] {hook} mutable input isolation failed") from cause
    return copied


_SHARED: Final = (FunctionType, MethodType, BuiltinFunctionType, ModuleType)
"""The types that are not plain values but that `deepcopy` does not copy."""


def _refuse_shared(value: Any, seen: set[int]) -> None:
    if isinstance(value, _SHARED) or _is_shared_memory(value):
        raise TypeError(f"a {type(value).__name__} cannot be isolated")
    if id(value) in seen or not isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return
    seen.add(id(value))
    for item in (*value, *value.values()) if isinstance(value, Mapping) else value:
        _refuse_shared(item, seen)


def _is_shared_memory(value: Any) -> bool:
    module = sys.modules.get("multiprocessing.shared_memory")
    return module is not None and isinstance(value, module.SharedMemory)


# -- read-only containers --------------------------------------------------------------------------


def frozen(value: Any) -> Any:
    """Return a value in which all dicts and lists are read-only, at any depth."""
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(frozen(item) for item in value)
    return frozenset(value) if isinstance(value, set) else value


def _refuse(said: str) -> NoReturn:
    raise TypeError(said)


class FrozenDict(dict[str, Any]):
    """A read-only dict. Copies are ordinary dicts."""

    def __setitem__(self, key: str, value: Any) -> NoReturn:
        if key in self:
            _refuse(f"Cannot assign to read only property '{key}' of object '#<Object>'")
        _refuse(f"Cannot add property {key}, object is not extensible")

    def _refuse_write(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("this event is read-only: make a copy of it to change it")

    __delitem__ = clear = pop = popitem = _refuse_write
    setdefault = update = __ior__ = _refuse_write  # pyright: ignore[reportAssignmentType]

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return {key: deepcopy(item, memo) for key, item in self.items()}

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A read-only list. Copies are ordinary lists."""

    def __setitem__(self, place: Any, value: Any) -> NoReturn:
        _refuse(f"Cannot assign to read only property '{place}' of object '[object Array]'")

    def _refuse_write(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("this event is read-only: make a copy of it to change it")

    __delitem__ = append = clear = extend = insert = _refuse_write
    pop = remove = reverse = sort = _refuse_write  # pyright: ignore[reportAssignmentType]
    __iadd__ = __imul__ = _refuse_write

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [deepcopy(item, memo) for item in self]

    def __reduce__(self) -> Any:
        return list, (list(self),)
