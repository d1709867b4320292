"""The rules of `modes.merge`. Each rule takes the earlier and the later value of a key."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["concat", "first", "intersect", "last", "update"]


def __dir__() -> list[str]:
    return __all__


def last(earlier: Any, later: Any) -> Any:
    """Return the later value."""
    return later


def first(earlier: Any, later: Any) -> Any:
    """Return the earlier value."""
    return earlier


def concat(earlier: Any, later: Any) -> Any:
    """Concatenate strings, lists or tuples: the earlier value, then the later value."""
    return earlier + later


def update(earlier: Any, later: Any) -> Any:
    """Merge two mappings. If both mappings have a key, the later value is used."""
    return {**earlier, **later}


def intersect(earlier: Any, later: Any) -> Any:
    """Return the items that are in both values, in the order of the earlier value. This rule suits
    an allow list.
    """
    if isinstance(earlier, AbstractSet):
        return earlier & set(later)
    kept = [item for item in earlier if item in later]
    return tuple(kept) if isinstance(earlier, tuple) else kept
