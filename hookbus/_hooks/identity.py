"""Mappings that keep nothing alive: by identity, and by what leads a call to the function that runs
it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from operator import setitem
from types import WrapperDescriptorType
from typing import Any, Final, Generic, TypeVar

from .._locks import serialize_writers

V = TypeVar("V")
Run = Callable[..., Any]
Line = tuple[type, tuple[type, ...]]

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


_MROS: Final = "__hookbus_mros__"
_IMMUTABLE: Final = 1 << 8

HEAP_TYPE: Final = 1 << 9
"""Of a class written in Python, which may be given another attribute at any time."""

mro_of: Final = type.__dict__["__mro__"].__get__
"""Return the MRO that Python itself looks attributes up by, whatever a metaclass says of it."""

attributes_of_class: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
"""Return what a class holds itself, likewise."""

_module_of: Final[Callable[[type], str]] = type.__dict__["__module__"].__get__
_qualname_of: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__


def place_of_class(cls: type) -> tuple[str, str]:
    """Return the module and the qualified name that a class was made with, likewise."""
    return _module_of(cls), _qualname_of(cls)


@serialize_writers
def hold(cls: type, mro: tuple[type, ...], holder: object) -> bool:
    """Keep an MRO of a class as long as the class lives: no other MRO gets its place in memory, and
    so its id, after `cls.__bases__ = ...`. False where the class takes no attribute.
    """
    if cls.__flags__ & _IMMUTABLE:
        return True  # its bases never change
    entry = id(holder), mro
    while not any(held == entry[0] and kept is mro for held, kept in vars(cls).get(_MROS, ())):
        try:
            _in_c(cls, "__setattr__")(cls, _MROS, (*vars(cls).get(_MROS, ()), entry))
        except Exception:
            return False
    return True


def write_checks(name: str, first: Any) -> tuple[list[str], tuple[int, ...]]:
    """Write what is true of a first argument while no class of it has got a method by assignment.

    The MRO is the same one, and each class in it has as many attributes as now, and the same under
    the name. This runs at every call, so it is written out and calls few functions.

    Args:
        name: the name of the called function.
        first: the first argument of its call, an object or a class.

    Returns:
        Python expressions with names in braces to be filled in, and what `{had}` stands for.
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
        if cls.__flags__ & HEAP_TYPE:  # a built-in class has only such bases
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
    """Let go of what was held for a hook that is no more."""
    held = vars(cls).get(_MROS, ())
    if left := tuple(entry for entry in held if entry[0] != id(holder)):
        _in_c(cls, "__setattr__")(cls, _MROS, left)
    elif held:
        _in_c(cls, "__delattr__")(cls, _MROS)


def _in_c(cls: type, name: str) -> Any:
    """Return how attributes of a class are changed, past what a metaclass of Python says."""
    found = (vars(kind).get(name) for kind in mro_of(type(cls)))
    return next(each for each in found if type(each) is WrapperDescriptorType)


class Ended(weakref.ref[type]):
    """Of a class: where it is put in the place of what ran its calls, nothing runs them."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class Runs(Unshipped):
    """What runs calls, by the id of the MRO of the first argument's class; a class that dies takes
    its entry along.

    By the MRO and not by the class: a class may be equal to another one or refuse to be hashed, as
    its metaclass says, and it has another MRO once its bases were changed. Nothing here keeps a
    class alive.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_used = False
        self._ends: dict[int, Ended] = {}

    @serialize_writers
    def mark_used(self) -> None:
        """Note that a plan is about to be made for it: from now on `Hook.forget` replaces it."""
        self.is_used = True

    def keep(self, cls: type, mro: tuple[type, ...], run: Run) -> None:
        key = id(mro)
        self._ends[key] = Ended(cls, self._at_end(key))
        self[key] = run
        if len(self._ends) > 2 * len(self) + 8:
            self._forget_ends()

    def _at_end(self, key: int) -> Callable[[Ended], Any]:
        """Return what is called when the class of an entry has died; no Python code, which could
        swallow a Ctrl-C.
        """
        return partial(self.pop, key)

    def _forget_ends(self) -> None:
        ends = self._ends  # no tuples are made on the way, so that nothing is collected
        for number, reference in list(zip(list(ends), list(ends.values()))):
            if reference() is None:
                gone = ends.pop(number, None)
                if gone is not None and gone() is not None:  # of a class that came meanwhile
                    ends.setdefault(number, gone)

    def end(self) -> None:
        """Let go of everything; a new table is in force."""
        self._ends.clear()
        self.clear()


class Table(Runs):
    """What runs the calls of a hook."""

    def __init__(self) -> None:
        super().__init__()
        self._of_classes: IdentityMap[Table] = IdentityMap()

    @serialize_writers
    def keep_of_class(
        self, run: Run, by_class: Callable[[Any], Run], kind: Line, line: Line
    ) -> None:
        """Keep what runs the calls whose first argument is a class; `by_class` makes what looks it
        up. `kind` is its metaclass, `line` itself.
        """
        found = self._of_classes.get(kind[0])
        if found is None:
            found = Table()
            self._of_classes.set(kind[0], found)
            self.keep(*kind, by_class(found.get))
        found.keep(*line, run)


class Own(Runs):
    """What runs the calls of one object with receivers of its own.

    It is replaced as a whole when they change: who is still building a plan puts it into the old
    one.
    """

    def __init__(self, owner: object = None, end: Callable[..., Any] | None = None) -> None:
        super().__init__()
        nobody: Callable[[], Any] = lambda: None  # noqa: E731
        self.reference = nobody if end is None else weakref.ref(owner, end)

    def _at_end(self, key: int) -> Callable[[Ended], Any]:
        # In no circle: what is left of an object goes with it, and not with a later collection.
        return partial(setitem, weakref.proxy(self), key)
