"""Who can be a sender: how it is held without being kept alive, and how it is told of."""

from __future__ import annotations

import inspect
import sys
import typing
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeGuard

from blinker import ANY

from ..exceptions import HookError
from .callables import is_typed_in, layers
from .failures import INFO, log

ANY_ID = 0
FAR = float("inf")

Name = tuple[str, str]
"""The module and the qualified name of a class or a function."""


def scopes_of(sender: Any) -> list[tuple[float, int, Any]]:
    """Return what a receiver may be connected to for this sender: distance, id, object; nearest
    first.
    """
    if sender is ANY or sender is None:
        return [(FAR, ANY_ID, None)]
    bases: tuple[type, ...] = sender.__mro__[1:] if is_class(sender) else ()
    kind: type = type(sender)
    nearest: dict[int, tuple[float, int, Any]] = {}
    for distance, scope in enumerate((sender, *bases, *kind.__mro__)):
        nearest.setdefault(id(scope), (float(distance), id(scope), scope))
    return [*nearest.values(), (FAR, ANY_ID, None)]


def is_class(sender: object) -> TypeGuard[type]:
    """Tell whether this is a class, without asking it for its `__class__`, which may be code of its
    own.
    """
    return issubclass(type(sender), type)


def own_class(sender: Any) -> type:
    """Return the class of a sender, or the class that it is."""
    return sender if is_class(sender) else type(sender)


def is_shared(sender: object) -> bool:
    """Tell whether the calls of more than one object may concern this sender: a class, a function,
    `ANY`.
    """
    return sender is ANY or type(sender) is FunctionType or is_class(sender)


def describe(sender: Any, *, is_named: bool = False) -> str:
    """Name a sender without calling any code of its own; by its attribute `name`, too, where it is
    one of many tools or models.
    """
    if is_class(sender):
        return f"class {sender.__qualname__}"
    if type(sender) is FunctionType:
        return f"function {sender.__qualname__}"
    called = type(sender).__qualname__
    if is_named and type(name := attributes_of(sender).get("name")) is str:
        called = f"{called} {name!r:.60}"
    return f"{called} at {id(sender):#x}"


def attributes_of(sender: Any) -> dict[str, Any]:
    """Return what an object holds in its `__dict__`, without calling any code of its own."""
    try:
        found = object.__getattribute__(sender, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


# As the class itself has them, whatever its metaclass says.
_MODULE: Final = type.__dict__["__module__"].__get__
_QUALNAME: Final = type.__dict__["__qualname__"].__get__


def name_of_sender(sender: Any) -> Name | None:
    """Return the name of a class or a function that its module may have under it, or None."""
    if is_class(sender):
        module, name = _MODULE(sender), _QUALNAME(sender)
    else:
        module, name = sender.__module__, sender.__qualname__
    is_named = isinstance(module, str) and "<" not in name and module != "<run_path>"
    return (module, name) if is_named else None


class Bearer:
    """A class or function that its module has under its name: whoever bears the name.

    Where the text that makes it runs again (a cell, a reload, a script), another one bears it, and
    what was connected to the one before must not be lost.
    """

    _by_name: Final[dict[Name, Bearer]] = {}

    def __init__(self, name: Name, sender: Any) -> None:
        self.name, self.latest = name, weakref.ref(sender)

    @classmethod
    def of(cls, sender: Any) -> Bearer | None:
        """Return who bears the name of this class or function; None where its module does not have
        it under its name, so that another one of this name may be somebody else.
        """
        name = name_of_sender(sender)
        if name is None:
            return None
        is_held = any(held is sender for held in _held_as(name))
        if not is_held and not is_typed_in(name[0]):
            return None
        return cls._by_name.setdefault(name, cls(name, sender))

    def __call__(self) -> Any:
        """Return the class or function that has the name now; else the latest that was seen."""
        for held in _held_as(self.name):
            if isinstance(held, (type, FunctionType)) and name_of_sender(held) == self.name:
                return held
        return self.latest()

    def see(self, sender: Any, *, is_heir: bool = True) -> None:
        """Note that a class or function of this name is met, and say once that it is another one,
        where there is something it takes over.
        """
        before = self.latest()
        if sender is before or (before is not None and self() is not sender):
            return
        self.latest = weakref.ref(sender)
        if is_heir:
            anew = f"{describe(sender)} in {self.name[0]} was made anew"
            log(INFO, f"{anew}, and what is connected to the one before holds for it")


def _held_as(name: Name) -> list[Any]:
    """Return what a module has under a name, and the functions it says it wraps."""
    held: Any = sys.modules.get(name[0])
    for part in name[1].split("."):
        held = getattr(held, "__dict__", {}).get(part)
    held = getattr(held, "__func__", held)
    return [held, *layers(held)]


def weak(sender: Any, on_death: Callable[[Any], None]) -> weakref.ref[Any]:
    """Return a weak reference, or raise HookError where the sender cannot be held safely."""
    if inspect.ismethod(sender):
        raise HookError(
            f"the method {sender.__qualname__} is made anew each time it is looked up and cannot "
            "be a sender: write its object or its class instead"
        )
    if type(sender) is str:
        is_role = sender in ("modify", "guard", "observe")
        instead = f"write role={sender!r}" if is_role else "give the class itself"
        raise HookError(f"sender={sender!r:.60} is a text, which never calls anything: {instead}")
    try:
        return weakref.ref(sender, on_death)
    except TypeError:
        raise HookError(
            f"a sender of type {type(sender).__qualname__} cannot be held safely: it has no weak "
            "references and its id may be used again; connect to its class or to ANY (or add "
            "'__weakref__' to its __slots__, weakref_slot=True to a dataclass)"
        ) from None


def check_can_call(sender: Any) -> None:
    """Refuse what looks like an object or a class and is never the first argument of a call.

    Raises:
        HookError: naming what to write instead.
    """
    if type(sender) is type:
        return
    whole = typing.get_origin(sender)
    if whole is not None:
        named = getattr(whole, "__qualname__", None) or whole
        raise HookError(
            f"{sender!r:.60} is an annotation and never calls anything: connect to {named}"
        )
    # A proxy passes calls on to what it stands for; what it says of its class is not its own.
    try:
        stands_in = sender.__class__ is not type(sender)
    except Exception:
        stands_in = True
    if stands_in:
        raise HookError(
            f"an object of {type(sender).__qualname__} only stands for another one, which is what "
            "calls: connect to that one, or to its class"
        )
