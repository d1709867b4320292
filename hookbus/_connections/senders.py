"""Who can be a sender: how it is held without being kept alive, and how it is told of."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..exceptions import HookError


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
            f"the method {sender.__qualname__} is made anew each time it is looked up and cannot be a sender: write its object "
            "or its class instead"
        )
    try:
        return weakref.ref(sender, on_death)
    except TypeError:
        raise HookError(
            f"a sender of type {type(sender).__qualname__} cannot be held safely: it has no weak references and its id may be "
            "used again; connect to its class or to ANY (or add '__weakref__' to its __slots__, weakref_slot=True to a dataclass)"
        ) from None
