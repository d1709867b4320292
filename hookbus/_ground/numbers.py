"""Recognize numbers in settings."""

from __future__ import annotations

from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is an integer or a float. Return False for True and False."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
