"""Mappings that keep nothing alive: by identity, and by class."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Final, Generic, TypeVar

V = TypeVar("V")


class Unshipped(dict[Any, Any]):
    """A dict that wakes up empty wherever a pickle brings it: what it holds belongs to this process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class IdentityMap(Generic[V]):
    """Values by the object they belong to, forgotten when the object dies.

    Equal, unhashable and reused objects are never mistaken for another.

    Attributes:
        by_id: the values by the `id` of a living owner.
    """

    __slots__ = ("_owners", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[int, V] = Unshipped()
        self._owners: dict[int, weakref.ref[Any]] = {}

    def __len__(self) -> int:
        return len(self.by_id)

    def get(self, owner: object) -> V | None:
        reference = self._owners.get(id(owner))
        return self.by_id.get(id(owner)) if reference is not None and reference() is owner else None

    def set(self, owner: object, value: V) -> None:
        key, by_id, owners = id(owner), self.by_id, self._owners

        def forget(reference: weakref.ref[Any]) -> None:
            # It runs before the id can be reused, so it never takes away another object's value.
            if owners.get(key) is reference:
                del owners[key]
                by_id.pop(key, None)

        owners[key] = weakref.ref(owner, forget)
        by_id[key] = value

    def pop(self, owner: object) -> None:
        self._owners.pop(id(owner), None)
        self.by_id.pop(id(owner), None)

    def set_all(self, value: V) -> None:
        """Give every owner this value."""
        for key in list(self.by_id):
            if key in self.by_id:
                self.by_id[key] = value

    def clear(self) -> None:
        self._owners.clear()
        self.by_id.clear()

    def owners(self) -> list[Any]:
        """Return the objects that are alive."""
        alive = [reference() for reference in list(self._owners.values())]
        return [owner for owner in alive if owner is not None]


class ClassTable(Unshipped):
    """What runs the calls of each class: the fastest look-up there is, which holds its keys strongly.

    A class is part of a circle and only the garbage collector ends it, so the tables are emptied before each full
    collection: they keep no class alive that it would have taken.
    """

    def __init__(self) -> None:
        super().__init__()
        _tables.add(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:  # type: ignore[override]
        return object.__hash__(self)


_tables: Final[weakref.WeakSet[ClassTable]] = weakref.WeakSet()


def _empty_tables(phase: str, info: dict[str, int]) -> None:
    if phase == "start" and info["generation"] == 2:
        for table in list(_tables):
            table.clear()


gc.callbacks.append(_empty_tables)
