"""Parse JSON strictly: accept only text that all parsers read in the same way."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from ..exceptions import HookError


def strict_json(text: Any) -> Any:
    """Parse a JSON string that all parsers read in the same way.

    Raises:
        HookError: if the JSON is invalid, or contains a duplicate key, NaN, infinity, or a number
            that is too large for a float.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_each_once, parse_constant=_no_number, parse_float=_finite
        )
    except RecursionError:
        raise HookError("the JSON is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise HookError(f"this is not valid JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise HookError(f"the key {name!r:.60} is duplicated: remove one")
        made[name] = value
    return made


def _no_number(word: str) -> Any:
    raise HookError(f"{word} is not valid JSON: write a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _no_number(f"{digits:.20}")
