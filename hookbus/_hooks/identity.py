"""Mappings that do not keep their keys alive: from objects by identity, and from classes to
compiled functions.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import setitem
from types import WrapperDescriptorType
from typing import Any, Final, Generic, TypeVar

from .._ground.locks import serialize_writers
from .._ground.plain import module_of, qualname_of

V = TypeVar("V")
Run = Callable[..., Any]
Line = tuple[type, tuple[type, ...]]

NO_SENDER: Final = 0
"""The key for all calls to a hookable without a first argument."""


class Unshipped(dict[Any, Any]):
    """A dict that is empty after unpickling, because its contents belong to this process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class IdentityMap(Generic[V]):
    """A mapping whose keys are objects, compared by identity. An entry is removed when its object
    is freed. The objects may be equal to each other or unhashable. A new object may have the id of
    a freed object.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}

    def get(self, owner: object) -> V | None:
        entry = self._entries.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def set(self, owner: object, value: V) -> None:
        # The cleanup is not Python code, because Python code could swallow a Ctrl-C.
        key = id(owner)
        self._entries[key] = weakref.ref(owner, partial(self._entries.pop, key)), value

    def owners(self) -> list[Any]:
        """Return the objects that have not been freed."""
        alive = [reference() for reference, _ in list(self._entries.values())]
        return [owner for owner in alive if owner is not None]


_MROS: Final = "__hookbus_mros__"
_IMMUTABLE: Final = 1 << 8

HEAP_TYPE: Final = 1 << 9
"""The type flag of a class written in Python. Its attributes may change at any time."""

mro_of: Final = type.__dict__["__mro__"].__get__
"""Returns the MRO that Python uses to look up attributes, regardless of overrides in a
metaclass.
"""

attributes_of_class: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
"""Returns the `__dict__` of a class, regardless of overrides in a metaclass."""


def place_of_class(cls: type) -> tuple[str, str]:
    """Return the module and qualified name of a class, regardless of overrides in a metaclass."""
    return module_of(cls), qualname_of(cls)


def with_subclasses(classes: Iterable[type]) -> list[type]:
    """Return the classes and all their subclasses."""
    found: dict[int, type] = {}  # by identity, because a metaclass may make classes equal
    waiting = list(classes)
    while waiting:
        cls = waiting.pop()
        if id(cls) not in found:
            found[id(cls)] = cls
            waiting.extend(type.__subclasses__(cls))
    return list(found.values())


@serialize_writers
def hold(cls: type, mro: tuple[type, ...], holder: object) -> bool:
    """Keep an MRO of a class alive as long as the class. Otherwise, another MRO could get its id
    after `cls.__bases__ = ...`. Return False if the class does not allow new attributes.
    """
    if cls.__flags__ & _IMMUTABLE:
        return True  # the bases of a built-in class never change
    while True:
        held = vars(cls).get(_MROS, ())
        for holder_id, kept in held:
            if holder_id == id(holder) and kept is mro:
                return True
        try:
            _in_c(cls, "__setattr__")(cls, _MROS, (*held, (id(holder), mro)))
        except Exception:
            return False


def write_checks(name: str, first: Any) -> tuple[list[str], tuple[int, ...]]:
    """Generate conditions that become false when a class of the first argument changes. They check
    that the MRO is the same, that each class in it has the same number of attributes, and that the
    attribute `name` is the same. The conditions are part of every call, so they are inlined and
    call few functions.

    Args:
        name: the name of the called function.
        first: the first argument of the call, an object or a class.

    Returns:
        The Python expressions, with names in braces to fill in, and the value of `{had}`.
    """
    checks: list[str] = []
    had: list[int] = []

    def expect(expression: str, number: int) -> None:
        checks.append(f"{expression} == {{had}}[{len(had)}]")
        had.append(number)

    lines = {"{type}({first})": type(first)}
    if issubclass(type(first), type):
        lines["{first}"] = first
    for owner, cls in lines.items():
        if cls.__flags__ & HEAP_TYPE:  # a built-in class has only built-in bases
            expect(f"{{id}}({{line}} := {owner}.__mro__)", id(cls.__mro__))
        for place, each in enumerate(cls.__mro__):
            if each.__flags__ & (HEAP_TYPE | _IMMUTABLE) == HEAP_TYPE:
                attributes = f"{{line}}[{place}].__dict__"
                expect(f"{{len}}({attributes})", len(vars(each)))
                if name in vars(each):
                    expect(f"{{id}}({attributes}.get({{name}}))", id(vars(each)[name]))
                else:
                    checks.append(f"{{name}} not in {attributes}")
    return checks, tuple(had)


@serialize_writers
def release(cls: type, holder: object) -> None:
    """Release the MROs that a class keeps alive for a hook that no longer exists."""
    held = vars(cls).get(_MROS, ())
    if left := tuple(entry for entry in held if entry[0] != id(holder)):
        _in_c(cls, "__setattr__")(cls, _MROS, left)
    elif held:
        _in_c(cls, "__delattr__")(cls, _MROS)


def _in_c(cls: type, name: str) -> Any:
    """Return the C function that sets or deletes attributes of a class, regardless of overrides in
    a metaclass.
    """
    kinds = iter(mro_of(type(cls)))
    while type(found := vars(next(kinds)).get(name)) is not WrapperDescriptorType:
        pass
    return found


class Ended(weakref.ref[type]):
    """A weak reference to a class. The reference is falsy, so a cache entry with this value runs no
    calls.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class RunMap(Unshipped):
    """The functions that run calls. The key is the id of the MRO of the first argument's class.
    When a class is freed, its entry is removed.

    The MRO is the key, because a metaclass may make classes equal or unhashable, and because a
    class has a new MRO after its bases change. This mapping does not keep classes alive.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_used = False
        self._ends: dict[int, Ended] = {}

    @serialize_writers
    def mark_used(self) -> None:
        """Record that a plan for this table is being created. From then on, `discard_plans`
        replaces the table.
        """
        self.is_used = True

    def keep(self, cls: type, mro: tuple[type, ...], run: Run) -> None:
        key = id(mro)
        self._ends[key] = Ended(cls, self._at_end(key))
        self[key] = run
        if len(self._ends) > 2 * len(self) + 8:
            self._forget_ends()

    def _at_end(self, key: int) -> Callable[[Ended], Any]:
        """Return the callback that runs when the class of an entry is freed. The callback is not
        Python code, because Python code could suppress a KeyboardInterrupt.
        """
        return partial(self.pop, key)

    def _forget_ends(self) -> None:
        ends = self._ends  # creates no tuples, so that no garbage collection starts
        for number, reference in list(zip(list(ends), list(ends.values()))):
            if reference() is None:
                gone = ends.pop(number, None)
                if gone is not None and gone() is not None:  # the class was added in the meantime
                    ends.setdefault(number, gone)

    def end(self) -> None:
        """Release all entries after a new table has replaced this one."""
        self._ends.clear()
        self.clear()


class RunTable(RunMap):
    """The functions that run the calls to a hook."""

    def __init__(self) -> None:
        super().__init__()
        self._of_classes: IdentityMap[RunTable] = IdentityMap()

    @serialize_writers
    def keep_of_class(
        self, run: Run, by_class: Callable[[Any], Run], kind: Line, line: Line
    ) -> None:
        """Cache the function that runs calls whose first argument is a class. `by_class` creates a
        function that looks up the cached function. `kind` is the metaclass with its MRO. `line` is
        the class with its MRO.
        """
        found = self._of_classes.get(kind[0])
        if found is None:
            found = RunTable()
            self._of_classes.set(kind[0], found)
            self.keep(*kind, by_class(found.get))
        found.keep(*line, run)


class InstanceRuns(RunMap):
    """The functions that run the calls of one object with its own receivers. When the receivers
    change, a new instance replaces this instance. Code that is still building a plan then stores it
    in the old instance.
    """

    def __init__(self, owner: object = None, end: Callable[..., Any] | None = None) -> None:
        super().__init__()
        no_owner: Callable[[], Any] = lambda: None  # noqa: E731
        self.reference = no_owner if end is None else weakref.ref(owner, end)

    def _at_end(self, key: int) -> Callable[[Ended], Any]:
        # Without a reference cycle, it is freed with its object and not by a later collection.
        return partial(setitem, weakref.proxy(self), key)
