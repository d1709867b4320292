"""Who can be a sender: how it is held without being kept alive, and how it is told of."""

from __future__ import annotations

import inspect
import typing
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from blinker import ANY

from ..exceptions import HookError

ANY_ID = 0
FAR = float("inf")


def scopes_of(sender: Any) -> list[tuple[float, int, Any]]:
    """Return what a receiver may be connected to for this sender: distance, id, object; nearest
    first.
    """
    if sender is ANY or sender is None:
        return [(FAR, ANY_ID, None)]
    bases: tuple[type, ...] = sender.__mro__[1:] if isinstance(sender, type) else ()
    kind: type = type(sender)
    nearest: dict[int, tuple[float, int, Any]] = {}
    for distance, scope in enumerate((sender, *bases, *kind.__mro__)):
        nearest.setdefault(id(scope), (float(distance), id(scope), scope))
    return [*nearest.values(), (FAR, ANY_ID, None)]


def is_shared(sender: object) -> bool:
    """Tell whether the calls of more than one object may concern this sender: a class, a function,
    `ANY`.
    """
    return sender is ANY or isinstance(sender, (type, FunctionType))


def describe(sender: Any) -> str:
    """Name a sender without calling any code of its own."""
    if isinstance(sender, type):
        return f"class {sender.__qualname__}"
    if isinstance(sender, FunctionType):
        return f"function {sender.__qualname__}"
    return f"{type(sender).__qualname__} at {id(sender):#x}"


def weak(sender: Any, on_death: Callable[[Any], None]) -> weakref.ref[Any]:
    """Return a weak reference, or raise HookError where the sender cannot be held safely."""
    if inspect.ismethod(sender):
        raise HookError(
            f"the method {sender.__qualname__} is made anew each time it is looked up and cannot "
            "be a "
            "sender: write its object or its class instead"
        )
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
            "calls: "
            "connect to that one, or to its class"
        )
