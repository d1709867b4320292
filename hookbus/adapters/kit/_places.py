"""Finds and replaces functions of a framework by their paths."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib import import_module
from typing import Any

from hookbus import HookError

from .._tools import Gate

Replacement = Callable[..., Any]
"""A function that takes the gate, the framework's function, and then the arguments of the call."""


def load(path: str) -> Any:
    """Import and return the object at a path such as `"agentlib.tools:Tool.run"`."""
    module, _, names = path.partition(":")
    found: Any = import_module(module)
    for name in filter(None, names.split(".")):
        found = getattr(found, name)
    return found


def find(gate: Gate, path: str) -> tuple[Any, str]:
    """Return the class or module that has the function at a path, and the function's name.

    Raises:
        HookError: if the class does not exist.
    """
    module, _, names = path.partition(":")
    *classes, name = names.split(".")
    owner: Any = import_module(module)
    for each in classes:
        owner = getattr(owner, each, None) or gate.patches.look_for(owner, each)
    return owner, name


def is_missing(gate: Gate, path: str, *, optional: bool, if_installed: bool) -> bool:
    """Return whether an optional function is missing.

    Args:
        gate: the gate of the adapter.
        path: the path of the function.
        optional: whether some releases may lack the function.
        if_installed: whether the package of the function may be missing.

    Raises:
        HookError: if the function is missing but must exist.
        ImportError: if the function's package is missing but must be installed.
    """
    try:
        gate.patches.look_for(*find(gate, path))
    except ImportError:
        if not (optional or if_installed):
            raise
        return True
    except HookError:
        if not optional:
            raise
        return True
    return False


def replace(gate: Gate, path: str, replacement: Replacement) -> None:
    """Replace the function at a path. A method is also replaced in subclasses, and a function is
    also replaced in modules that have imported it."""
    owner, name = find(gate, path)
    make = functools.partial(_wrapper, gate, replacement)
    raw = vars(owner).get(name)
    if isinstance(raw, (staticmethod, classmethod)):
        gate.patches.replace(owner, name, type(raw)(make(raw.__func__)))
    elif isinstance(owner, type):
        gate.patches.wrap(owner, name, lambda cls, stock: make(stock))
    else:
        gate.patches.wrap_function(owner, name, make)


def _wrapper(gate: Gate, replacement: Replacement, stock: Any) -> Any:
    """Return a function of the same kind as the replacement. Other code may still call this
    function after the adapter is uninstalled. In this case, it calls the framework's function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if gate.patches.is_live:
            return replacement(gate, stock, *args, **kwargs)
        return stock(*args, **kwargs)

    if inspect.isasyncgenfunction(replacement):

        @functools.wraps(stock)
        async def call_in_parts(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            async with aclosing(call(*args, **kwargs)) as parts:
                async for part in parts:
                    yield part

        return call_in_parts
    if inspect.iscoroutinefunction(replacement):

        @functools.wraps(stock)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await call(*args, **kwargs)

        return call_async
    return functools.wraps(stock)(call)
