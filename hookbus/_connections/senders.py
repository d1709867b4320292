"""Determine which objects can be senders, reference them weakly, and describe them."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, Final, TypeGuard

from blinker import ANY

from .._callables.callables import is_typed_in, layers
from .._ground.plain import module_of, qualname_of
from ..exceptions import HookError
from .failures import INFO, log

ANY_ID = 0
FAR = float("inf")

Name = tuple[str, str]
"""The module and the qualified name of a class or a function."""


def scopes_of(sender: Any) -> list[tuple[float, int, Any]]:
    """Return the scopes that include this sender, as tuples of distance, id and object. The nearest
    scope is the first.
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
    """Return whether an object is a class. The function does not read `__class__`, which may run
    other code.
    """
    return issubclass(type(sender), type)


def own_class(sender: Any) -> type:
    """Return the class of a sender, or the sender itself if it is a class."""
    return sender if issubclass(type(sender), type) else type(sender)


def is_shared(sender: object) -> bool:
    """Return whether several objects can share this sender, because it is a class, a function or
    `ANY`.
    """
    kind = type(sender)
    return sender is ANY or kind is FunctionType or issubclass(kind, type)


def describe(sender: Any, *, is_named: bool = False) -> str:
    """Describe a sender without running code of its class. With `is_named`, include its attribute
    `name`, to identify one of many tools or models.
    """
    if is_class(sender):
        return f"class {sender.__qualname__}"
    if type(sender) is FunctionType:
        return f"function {sender.__qualname__}"
    called = type(sender).__qualname__
    if is_named and type(name := attributes_of(sender).get("name")) is str:
        called = f"{called} {name!r:.60}"
    return f"{called} at {id(sender):#x}"


def description_of(sender: Any, *, is_named: bool) -> Callable[[Any], str]:
    """Return a function that describes this sender and all other senders of its class."""
    if is_named or is_class(sender) or type(sender) is FunctionType:
        return partial(describe, is_named=is_named)
    return _describe_instance


def _describe_instance(sender: Any) -> str:
    return f"{type(sender).__qualname__} at {hex(id(sender))}"


def attributes_of(sender: Any) -> dict[str, Any]:
    """Return the `__dict__` of an object without running code of its class."""
    try:
        found = object.__getattribute__(sender, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def name_of_sender(sender: Any) -> Name | None:
    """Return the name under which a module may contain a class or a function, or None."""
    if issubclass(type(sender), type):
        module, name = module_of(sender), qualname_of(sender)
    else:
        module, name = sender.__module__, sender.__qualname__
    is_named = isinstance(module, str) and "<" not in name and module != "<run_path>"
    return (module, name) if is_named else None


class NamedSender:
    """A class or function that is identified by its name. It is the object that its module
    currently contains under this name.

    If the source runs again, as in a notebook cell, a reload or a script, another object gets the
    name. The connections to the earlier object must not be lost.
    """

    _by_name: Final[dict[Name, NamedSender]] = {}

    def __init__(self, name: Name, sender: Any) -> None:
        self.name, self.latest = name, weakref.ref(sender)

    @classmethod
    def of(cls, sender: Any, name: Name) -> NamedSender | None:
        """Return the `NamedSender` for the name of a class or function. Return None if the module
        does not contain the class or function under its name, because another object may have taken
        the name.
        """
        for held in _held_as(name):
            if held is sender:
                break
        else:
            if not is_typed_in(name[0]):
                return None
        return cls._by_name.setdefault(name, cls(name, sender))

    def __call__(self) -> Any:
        """Return the class or function that currently has the name, or else the latest known class
        or function with this name.
        """
        for held in _held_as(self.name):
            if isinstance(held, (type, FunctionType)) and name_of_sender(held) == self.name:
                return held
        return self.latest()

    def note_redefinition(self, sender: Any, *, inherits: bool = True) -> None:
        """Record a class or function with this name. If it takes over the connections of an earlier
        definition, log this fact once.
        """
        before = self.latest()
        if sender is before or (before is not None and self() is not sender):
            return
        self.latest = weakref.ref(sender)
        if inherits:
            anew = f"{describe(sender)} in {self.name[0]} was defined again"
            log(INFO, f"{anew}, and takes over the connections of the earlier definition")


def _held_as(name: Name) -> list[Any]:
    """Return the object that a module contains under a name, and the functions that this object
    wraps.
    """
    held: Any = sys.modules.get(name[0])
    for part in name[1].split("."):
        held = getattr(held, "__dict__", {}).get(part)
    held = getattr(held, "__func__", held)
    return [held] if type(held) is type else [held, *layers(held)]


def weak(sender: Any, on_death: Callable[[Any], None]) -> weakref.ref[Any]:
    """Return a weak reference to a sender. Raise HookError if the sender cannot be referenced
    safely.
    """
    if inspect.ismethod(sender):
        raise HookError(
            f"the method {sender.__qualname__} is a new object each time it is looked up, so it "
            "cannot be a sender: pass its object or its class instead"
        )
    if type(sender) is str:
        is_role = sender in ("modify", "guard", "observe")
        instead = f"write role={sender!r}" if is_role else "pass the class itself"
        raise HookError(f"sender={sender!r:.60} is a string, which cannot be a sender: {instead}")
    try:
        return weakref.ref(sender, on_death)
    except TypeError:
        raise HookError(
            f"an object of type {type(sender).__qualname__} cannot be a sender: it has no weak "
            "references, and its id may be used again; connect to its class or to ANY (or add "
            "'__weakref__' to its __slots__, weakref_slot=True to a dataclass)"
        ) from None
