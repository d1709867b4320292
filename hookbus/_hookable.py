"""@hookable and instrument: how a method comes to tell its signals."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, overload

from ._bus import Bus, default_bus
from ._hooks.hook import Hook, colour_of, hook_of
from .exceptions import HookError, HookWarning

F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, ..., Any] | staticmethod[..., Any]")


class Hookable(Hook):
    """The hook of a hookable function."""

    def find(self, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what runs a call with these values; it is called as the body is."""
        from ._calls.runner import choose  # with all that runs calls: at the first that is hooked

        return choose(self, values)


@overload
def hookable(name: F) -> F: ...
@overload
def hookable(name: str | None = None, *, bus: Bus = ...) -> Callable[[F], F]: ...
def hookable(name: Any = None, *, bus: Bus = default_bus) -> Any:
    """Make a function hookable: `@hookable`, or `@hookable("reply")`.

    It works on `def`, `async def`, generators and async generators, on methods, under or above
    `@classmethod` and `@staticmethod`, and on functions. What it returns is a plain function with
    the signature, annotations, docstring and colour of the bare one. Decorating twice is one hook.

    Args:
        name: the hook's name, which its signals end in; None is the function's own name.
        bus: the bus its signals live on.

    Returns:
        The hookable function, or a decorator that makes one.

    Raises:
        HookError: if it is not a function, or is hookable already under another name.
    """
    if name is None or isinstance(name, str):
        return lambda function: _hooked(function, name, bus)
    return _hooked(name, None, bus)


def _hooked(function: Any, given: str | None, bus: Bus) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_hooked(function.__func__, given, bus))
    _check_function(function)
    name: str = function.__name__ if given is None else given
    present = hook_of(function)
    if present is not None:
        if present.name == name and present.bus is bus:
            return function
        raise HookError(
            f"{function.__qualname__} is hookable already as {present.name!r}; one function is one "
            "hook"
        )
    if colour_of(inspect.unwrap(function)) != colour_of(function):
        warnings.warn(
            f"{function.__qualname__} hides its colour under a decorator "
            f"({colour_of(inspect.unwrap(function))} inside "
            f"{colour_of(function)}): put @hookable below that decorator",
            HookWarning, stacklevel=3,
        )  # fmt: skip
    hook = Hookable(name, bus, function)
    bus._declare(hook)
    return hook.shell


def _check_function(function: Any) -> None:
    instead, has_name = None, hasattr(function, "__qualname__")
    if isinstance(function, property):
        instead = "a property: decorate its getter, below @property"
    elif isinstance(function, type):
        instead = "a class: decorate its methods, or call instrument(cls, 'method', ...)"
    elif inspect.ismethod(function):
        instead = "a bound method: decorate the function in its class"
    elif not callable(function) or inspect.isbuiltin(function) or not has_name:
        instead = f"a {type(function).__name__}: decorate a function"
    if instead is not None:
        raise HookError(f"hookable cannot take {function!r:.60}, {instead}")
    try:
        inspect.signature(function)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        raise HookError(
            f"hookable cannot take {function!r:.60}: it has no signature to read (built-in?)"
        ) from None
