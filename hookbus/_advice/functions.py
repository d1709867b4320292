"""Explain why an object cannot be made hookable, and what to decorate instead."""

from __future__ import annotations

import inspect
import types
from functools import partial
from types import FunctionType
from typing import Any, Final

from .._ground.errors import article
from .._ground.signatures import signature_of

_WRAPPED: Final = ("func", "fn", "coroutine", "function", "callback", "on_invoke_tool")
"""The attributes that contain the original function in the tool objects of frameworks."""


def problem_with_function(function: Any) -> str | None:
    """Return the end of a message that says why an object cannot be made hookable, or None."""
    instead, has_name = None, hasattr(function, "__qualname__")
    if isinstance(function, property):
        instead = "a property: put @hookable on its getter, below @property"
    elif isinstance(function, type):
        instead = "a class: decorate its methods, or call instrument(cls, 'method', ...)"
    elif inspect.ismethod(function):
        instead = "a bound method: decorate the function where its class defines it"
    elif not has_name and _is_tool(function):
        kind = type(function).__name__
        instead = (
            f"a {kind} made from a function: swap the two decorators, so that @hookable is the "
            "lower one"
        )
    elif _is_types_coroutine(function):
        instead = "a function made by @types.coroutine: define it with async def"
    elif not callable(function) or inspect.isbuiltin(function) or not has_name:
        instead = f"{article(str(type(function).__name__))}: decorate a function"
    if instead is not None:
        return f", which is {instead}"
    try:
        signature_of(function)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return ": its signature cannot be read (a built-in?)"
    return None


def _is_tool(given: Any) -> bool:
    """Return whether a decorator made this object from a function, as frameworks do with tools."""
    if isinstance(given, partial):
        return False
    return any(isinstance(getattr(given, name, None), FunctionType) for name in _WRAPPED)


def _is_types_coroutine(function: Any) -> bool:
    """Return whether a function was made by `types.coroutine`. Its calls return an awaitable, but
    its code is not async.
    """
    while isinstance(function, FunctionType):
        code = function.__code__
        is_wrapper = code.co_filename == types.coroutine.__code__.co_filename
        if code.co_flags & inspect.CO_ITERABLE_COROUTINE or is_wrapper:
            return True
        if inspect.iscoroutinefunction(function):
            return False
        function = function.__dict__.get("__wrapped__")
    return False
