"""The rules of `modes.merge`. Each is a function of the earlier and the later value of a key."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["concat", "first", "intersect", "last", "update"]


def __dir__() -> list[str]:
    return __all__


def last(earlier: Any, later: Any) -> Any:
    """Keep the later of two values."""
    return later


def first(earlier: Any, later: Any) -> Any:
    """Keep the earlier of two values."""
    return earlier


def concat(earlier: Any, later: Any) -> Any:
    """Join strings, lists or tuples: the earlier value, then the later value."""
    return earlier + later


def update(earlier: Any, later: Any) -> Any:
    """Join two mappings. If both have a key, the later value is used."""
    return {**earlier, **later}


def intersect(earlier: Any, later: Any) -> Any:
    """Keep the items that are in both values, in the order of the earlier value. Use this rule for
    an allow list.
    """
    if isinstance(earlier, AbstractSet):
        return earlier & set(later)
    kept = [item for item in earlier if item in later]
    return tuple(kept) if isinstance(earlier, tuple) else kept
