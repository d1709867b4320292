"""Mappings that keep nothing alive: by identity, and by what leads a call to the function that runs
it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

V = TypeVar("V")
Run = Callable[..., Any]

ALL: Final = 0
"""The key of what runs every call of a hookable that has no first argument."""


class Unshipped(dict[Any, Any]):
    """A dict that wakes up empty wherever a pickle brings it: what it holds belongs to this
    process.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class IdentityMap(Generic[V]):
    """Values by the object they belong to, forgotten when the object dies.

    Equal, unhashable and reused objects are never mistaken for another.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, owner: object) -> V | None:
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: V) -> None:
        # What is called at the end of an owner is no Python code, which could swallow a Ctrl-C.
        key = id(owner)
        self._entries[key] = weakref.ref(owner, partial(self._entries.pop, key)), value

    def owners(self) -> list[Any]:
        """Return the objects that are alive."""
        alive = [reference() for reference, _ in list(self._entries.values())]
        return [owner for owner in alive if owner is not None]


class Table(Unshipped):
    """What runs the calls of a hook, by the id of the MRO of the first argument's class.

    By the MRO and not by the class: a class may be equal to another one or refuse to be hashed, as
    its metaclass says, and it has another MRO once its bases were changed. Nothing here keeps a
    class alive.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_used = False
        self._owners: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._of_classes: IdentityMap[Table] = IdentityMap()

    def keep_of_class(self, cls: type, run: Run, by_class: Callable[[Any], Run]) -> None:
        """Keep what runs the calls whose first argument is this class; `by_class` makes what looks
        it up.
        """
        found = self._of_classes.get(type(cls))
        if found is None:
            found = Table()
            self._of_classes.set(type(cls), found)
            self.keep(type(cls), by_class(found.get))
        found.keep(cls, run)

    def keep(self, cls: type, run: Run) -> None:
        key, old = id(cls.__mro__), self._owners.get(id(cls))
        if old is not None and old[0] != key:
            self.pop(old[0], None)  # the MRO it had, whose id may be that of another one by now
        self._owners[id(cls)] = key, weakref.ref(cls, partial(self.pop, key))
        self[key] = run
        if len(self._owners) > 2 * len(self) + 8:
            owners = self._owners  # no tuples are made on the way, so that nothing is collected
            for number, (_, reference) in list(zip(list(owners), list(owners.values()))):
                if reference() is None:
                    self._owners.pop(number, None)

    def end(self) -> None:
        """Let go of everything; a new table is in force."""
        self._owners.clear()
        self.clear()


class Own(Unshipped):
    """What runs the calls of one object with receivers of its own, by the id of its class's MRO.

    It is replaced as a whole when they change: who is still building a plan puts it into the old
    one.
    """

    def __init__(self, owner: object = None, end: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.is_used = False
        nobody: Callable[[], Any] = lambda: None  # noqa: E731
        self.reference = nobody if end is None else weakref.ref(owner, end)

    def keep(self, cls: type, run: Run) -> None:
        # Only the latest MRO: the id of one the class had before may be that of another by now.
        self.clear()
        self[id(cls.__mro__)] = run
