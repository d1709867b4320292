"""Values as JSON: how two calls are compared, and what a model of pydantic judges."""

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
    """Return a digest of a value in canonical JSON, in which fields are as in a mapping; None where
    it has none.
    """
    try:
        _size(value, {})
        text = _SORTED(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_json(value: Any) -> str:
    """Return a value as JSON; models of pydantic, dataclasses and attrs objects are mappings.

    Raises:
        TypeError: for an object that has no JSON, or a key that is not a string.
        ValueError: for NaN, infinity, what holds itself, or more than a million values.
        RecursionError: for what is nested too deep.
    """
    _size(value, {})
    return _WRITTEN(value)


def _size(value: Any, sizes: dict[int, tuple[int, Any]]) -> int:
    """Return how many values the JSON of a value has, where that can be written: what is there once
    and held often is written often.
    """
    if type(value) in PLAIN or isinstance(value, (str, int, float)):
        return 1
    if id(value) in sizes:
        size = sizes[id(value)][0]
        if not size:
            raise ValueError("it holds itself")
        return size
    sizes[id(value)] = 0, value  # kept, or another object may have its number
    plain = value if isinstance(value, (dict, list, tuple)) else _plain(value)
    size = 1
    if isinstance(plain, dict):
        if not all(isinstance(key, str) for key in plain):
            raise TypeError("a key is not a string")  # JSON would make 1 and "1" one
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
        raise TypeError(f"{type(value).__name__} has no JSON")
    return fields


_WRITTEN: Final = json.JSONEncoder(allow_nan=False, default=_plain).encode
_SORTED: Final = json.JSONEncoder(allow_nan=False, default=_plain, sort_keys=True).encode
