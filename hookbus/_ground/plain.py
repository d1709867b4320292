"""Convert any value to JSON data: a copy of limited size, with placeholders such as `<Agent>` for
values that JSON cannot represent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

# Read through `type`, because a metaclass may override them.
qualname_of: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__
module_of: Final[Callable[[type], str]] = type.__dict__["__module__"].__get__

DEEPEST: Final = 32
"""The maximum nesting depth of mappings and lists."""

MOST: Final = 10_000
"""The maximum number of values to copy from one value."""

LONGEST: Final = 100_000
"""The maximum length of one string. All strings in a value together may have MOST times 100
characters.
"""

_TRACEBACK: Final = vars(BaseException)["__traceback__"].__get__
_SEVERAL: Final = (list, tuple, set, frozenset)
_ROUND: Final = 64
_LARGE: Final = 1 << 63
_FIXED: Final = frozenset((str, int, float, bool, type(None), bytes))


def plain(value: Any) -> Any:
    """Return a copy of a value that contains only dicts with string keys, lists, strings, numbers,
    True, False and None.

    A placeholder replaces every other object, and every value that is too large, too deeply nested,
    circular or unreadable. Integers of more than 64 bits, NaN and infinity become strings.
    """
    kind = type(value)
    if kind is str:
        if len(value) <= LONGEST and value.isascii():
            return value
    elif kind is int:
        if -_LARGE < value < _LARGE:
            return value
    elif value is None or kind is bool or (kind is float and math.isfinite(value)):
        return value
    return _Copy().of(value)


def copy_containers(value: Any) -> Any:
    """Return a value in which each mapping, list, tuple, set and bytearray is copied. All other
    objects stay the same. `plain` returns the same result for the copy as for the original.
    """
    return value if type(value) in _FIXED else _ContainerCopy().of(value)


def name_of_type(kind: type) -> str:
    """Return the qualified name of a class without running any code of the class."""
    name, module = qualname_of(kind), module_of(kind)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else f"{name}"


def place_of_raise(error: BaseException) -> str | None:
    """Return the `file:line` where an exception was raised, or None if it was not raised."""
    trace, place = _TRACEBACK(error), None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        place = place if file.startswith("<hookbus ") else f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class _Copy:
    def __init__(self) -> None:
        self._values, self._characters = 0, 0
        self._around: set[int] = set()

    def of(self, value: Any) -> Any:
        self._values += 1
        if self._values > MOST:
            return "<too many values>"
        if value is None or value is True or value is False:
            return value
        try:
            if isinstance(value, str):
                return self._text(str.__str__(value))
            if isinstance(value, (int, float)):
                return self._number(value)
            if isinstance(value, (bytes, bytearray)):
                return self._bytes(value)
            if isinstance(value, (Mapping, *_SEVERAL)):
                return self._inside(value)
        except Exception:  # a custom container or string class may raise
            return f"<{qualname_of(type(value))}, which cannot be read>"
        return self._object(value)

    def _object(self, value: Any) -> Any:
        return f"<{qualname_of(type(value))}>"

    def _bytes(self, value: bytes | bytearray) -> Any:
        return f"<{len(value)} bytes>"

    def _number(self, value: float) -> Any:
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else repr(number)
        whole = int.__int__(value)
        bits = whole.bit_length()
        if bits < _ROUND:
            return whole
        return str(whole) if bits <= 16 * _ROUND else f"<integer of {bits} bits>"

    def _text(self, text: str) -> str:
        self._characters += len(text)
        if len(text) > LONGEST or self._characters > 100 * MOST:
            return f"<text of {len(text)} characters>"
        # A lone surrogate cannot be encoded as UTF-8.
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

    def _inside(self, value: Any) -> Any:
        if id(value) in self._around:
            return f"<{qualname_of(type(value))}, which contains itself>"
        if len(self._around) == DEEPEST:
            return f"<{qualname_of(type(value))}, nested too deeply>"
        self._around.add(id(value))
        try:
            return self._mapping(value) if isinstance(value, Mapping) else self._list(value)
        finally:
            self._around.discard(id(value))

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, each in value.items():
            if self._values > MOST:
                made[unused("<more>", made)] = "<too many values>"
                break
            made[unused(self._key(key), made)] = self.of(each)
        return made

    def _key(self, key: Any) -> Any:
        if isinstance(key, _SEVERAL):
            return f"<{qualname_of(type(key))}>"
        text = self.of(key)
        return text if isinstance(text, str) else str(text)

    def _list(self, value: Iterable[Any]) -> list[Any]:
        made = []
        for each in value:
            made.append(self.of(each))
            if self._values > MOST:
                break
        return made


class _ContainerCopy(_Copy):
    def _object(self, value: Any) -> Any:
        return value

    def _bytes(self, value: bytes | bytearray) -> Any:
        return bytes(value)

    def _number(self, value: float) -> Any:
        return value

    def _text(self, text: str) -> str:
        return text

    def _key(self, key: Any) -> Any:
        self._values += 1
        return key

    def _list(self, value: Iterable[Any]) -> Any:
        made = super()._list(value)
        kind = next((each for each in (tuple, set, frozenset) if isinstance(value, each)), list)
        return kind(made)


def unused(key: str, made: Mapping[str, Any]) -> str:
    """Return the key if the dict does not contain it, else the key with a number that makes it
    unique.
    """
    number, free = len(made), key
    while free in made:
        number += 1
        free = f"{key} ({number})"
    return free
