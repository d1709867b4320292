"""Serializes values to JSON, to compare calls and to validate values with pydantic models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from datetime import time as time_of_day
from enum import Enum
from os import PathLike
from typing import Any, Final
from uuid import UUID

from ._look import MOST
from ._parts import ATOMS, PLAIN, fields_of


def digest(value: Any) -> bytes | None:
    """Return a digest of a value in canonical JSON. Objects are serialized as mappings of their
    fields. Return None if the value cannot be serialized to JSON.
    """
    try:
        _size(value, {})
        text = _SORTED(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_json(value: Any) -> str:
    """Serialize a value to JSON. Pydantic models, dataclasses and attrs objects become mappings.

    Raises:
        TypeError: if an object cannot be serialized, or a key is not a string.
        ValueError: if there is NaN, infinity, a circular reference, or more than a million values.
        RecursionError: if a value is nested too deeply.
    """
    _size(value, {})
    return _WRITTEN(value)


def _size(value: Any, sizes: dict[int, tuple[int, Any]]) -> int:
    """Return the number of values in the JSON form of a value. An object counts once for each
    reference.
    """
    if type(value) in PLAIN or isinstance(value, (str, int, float)):
        return 1
    if id(value) in sizes:
        size = sizes[id(value)][0]
        if not size:
            raise ValueError("it contains itself")
        return size
    sizes[id(value)] = 0, value  # keep a reference, so that its id is not reused
    plain = value if isinstance(value, (dict, list, tuple)) else _plain(value)
    size = 1
    if isinstance(plain, dict):
        if not all(isinstance(key, str) for key in plain):
            raise TypeError("a key is not a string")  # JSON would merge 1 and "1"
        plain = plain.values()
    for each in plain if not isinstance(plain, (str, int, float)) else ():
        size += 1 if type(each) in PLAIN else _size(each, sizes)
        if size > MOST:
            raise ValueError(f"it has more than {MOST} values")
    sizes[id(value)] = size, value
    return size


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (UUID, date, time_of_day, PathLike)) and not isinstance(value, type):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    fields = None if isinstance(value, ATOMS) else fields_of(value)
    if fields is None:
        raise TypeError(f"{type(value).__name__} cannot be serialized to JSON")
    return fields


_WRITTEN: Final = json.JSONEncoder(allow_nan=False, default=_plain).encode
_SORTED: Final = json.JSONEncoder(allow_nan=False, default=_plain, sort_keys=True).encode
