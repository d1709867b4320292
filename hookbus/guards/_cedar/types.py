"""Defines types of arguments for Cedar, and converts values to JSON for Cedar.

A value for which Cedar has no type, such as a mapping with arbitrary keys, becomes JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from os import PathLike
from typing import Any, Final
from uuid import UUID

import attrs

from ..._ground.errors import did_you_mean
from .._canonical import as_json
from .._parts import bare, fields_of
from .library import quoted


class Mismatch(Exception):
    """An argument does not match its type. The message contains the argument's name, but never its
    value."""


@attrs.frozen
class Kind:
    """A Cedar type.

    Attributes:
        cedar: the name of the type in a schema.
        convert: converts a value to JSON for Cedar. It also takes the path of the value, for the
            message of a `Mismatch`.
    """

    cedar: str
    convert: Callable[[Any, str], Any]


@attrs.frozen
class Field:
    """The type of an argument or of a record's field, and whether it is always present."""

    kind: Kind
    is_required: bool


def _string(value: Any, path: str) -> str:
    if type(value) is str:
        return value
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return str(bare(value))
    if isinstance(value, (UUID, date, time, PathLike)) and not isinstance(value, type):
        return str(value)
    raise Mismatch(f"the argument {path!a} is not a string")


def _long(value: Any, path: str) -> int:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return int.__index__(value)
    raise Mismatch(f"the argument {path!a} is not a 64-bit integer")


def _bool(value: Any, path: str) -> bool:
    if value is True or value is False:
        return value
    raise Mismatch(f"the argument {path!a} is not true or false")


def decimal_of(value: Any, path: str) -> Any:
    """Convert a number to a Cedar decimal, which has at most four decimal places."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        number = value if isinstance(value, Decimal) else Decimal(repr(value))
        if number.is_finite() and abs(number) < 10**14:
            text = f"{number:.4f}"
            if Decimal(text) == number:
                return {"__extn": {"fn": "decimal", "arg": text}}
    raise Mismatch(
        f"the argument {path!a} is not a number with at most four decimal places"
    )


def _text(value: Any, path: str) -> str:
    if type(value) is str:
        return value
    try:
        return as_json(value)
    except (TypeError, ValueError, RecursionError):
        raise Mismatch(f"the argument {path!a} is not valid JSON") from None


STRING: Final = Kind("String", _string)
LONG: Final = Kind("Long", _long)
BOOL: Final = Kind("Bool", _bool)
DECIMAL: Final = Kind("decimal", decimal_of)
TEXT: Final = Kind("String", _text)
"""The type for any value: a string remains unchanged, and any other value becomes JSON text."""


def set_of(kind: Kind) -> Kind:
    """Return the type of a list. Cedar ignores the order and duplicates of its items."""

    def convert(value: Any, path: str) -> list[Any]:
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise Mismatch(f"the argument {path!a} is not a list")
        return [kind.convert(each, path) for each in value]

    return TEXT if kind is TEXT else Kind(f"Set<{kind.cedar}>", convert)


def record_of(fields: Mapping[str, Field]) -> Kind:
    """Return the type of a mapping with exactly these keys."""

    def convert(value: Any, path: str) -> dict[str, Any]:
        given = value if isinstance(value, Mapping) else fields_of(value)
        if given is None:
            raise Mismatch(f"the argument {path!a} is not a mapping")
        return convert_fields(fields, given, f"{path}.")

    return Kind(record_text(fields), convert)


def record_text(fields: Mapping[str, Field]) -> str:
    """Return the type of arguments in Cedar's syntax."""
    written_fields = (
        f"{quoted(name)}{'' if each.is_required else '?'}: {each.kind.cedar}"
        for name, each in fields.items()
    )
    return f"{{{', '.join(written_fields)}}}"


def convert_fields(
    fields: Mapping[str, Field], given: Mapping[Any, Any], prefix: str = "",
    skipped: Collection[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Convert arguments to JSON for Cedar, without arguments that are None.

    Raises:
        Mismatch: if an argument is unknown, is missing, or has another type.
    """
    found = {}
    for name, value in given.items():
        field = fields.get(name)
        if field is None:
            near = did_you_mean(str(name), fields)
            raise Mismatch(
                f"the schema has no argument {f'{prefix}{name}'[:60]!a}"
                f"{near if 'did you mean' in near else ''}"
            )
        if value is not None and name not in skipped:
            found[name] = field.kind.convert(value, f"{prefix}{name}")
    for name, field in fields.items():
        if field.is_required and name not in found and name not in skipped:
            raise Mismatch(f"the argument {f'{prefix}{name}'[:60]!a} is missing")
    return found
