"""A mapping by identity that keeps nothing alive: equal, unhashable and reused objects are never mistaken for another."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class IdentityMap(Generic[V]):
    """Values by the object they belong to, forgotten when the object dies."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, owner: object) -> V | None:
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: V) -> None:
        entries, key = self._entries, id(owner)
        # The callback runs before the id can be reused, so it never removes another object's entry.
        entries[key] = (weakref.ref(owner, lambda _: entries.pop(key, None)), value)

    def pop(self, owner: object) -> None:
        self._entries.pop(id(owner), None)

    def clear(self) -> None:
        self._entries.clear()

    def owners(self) -> list[Any]:
        """Return the objects that are alive."""
        alive = [ref() for ref, _ in list(self._entries.values())]
        return [owner for owner in alive if owner is not None]
