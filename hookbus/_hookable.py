"""@hookable: how a method comes to tell its signals."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from functools import partial
from inspect import Parameter
from types import FunctionType
from typing import Any, Final, TypeVar, overload

from ._bus import Bus, default_bus
from ._hooks.hook import Hook, hook_of
from ._hooks.signature import colour_of
from ._hooks.site import NOTHING_SAID, Given, given_of
from ._keywords import check_bus, named_options
from ._signatures import signature_of
from .exceptions import HookBlocked, HookError, article, did_you_mean, warn

F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, ..., Any] | staticmethod[..., Any]")

_WRAPPED: Final = ("func", "fn", "coroutine", "function", "callback", "on_invoke_tool")
"""Where objects that frameworks make of functions keep them."""


class Hookable(Hook):
    """The hook of a hookable function."""

    def find(self, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what runs a call with these values; it is called as the body is."""
        from ._calls.runner import choose  # with all that runs calls: at the first that is hooked

        return choose(self, values)


@overload
def hookable(name: F) -> F: ...
@overload
def hookable(
    name: str | None = None, *, bus: Bus = ..., require_guard: bool | None = None,
    on_block: Callable[[HookBlocked], Any] | None = None, sender: str | None = None,
    async_receivers: bool = False, sealed: bool | None = None,
    identity: Callable[[Any], str] | None = None,
    passes: Iterable[type[BaseException]] | None = None, labels: Iterable[str] = (),
) -> Callable[[F], F]: ...  # fmt: skip
@named_options
def hookable(
    name: Any = None, *, bus: Bus = default_bus, require_guard: bool | None = None,
    on_block: Callable[[HookBlocked], Any] | None = None, sender: str | None = None,
    async_receivers: bool = False, sealed: bool | None = None,
    identity: Callable[[Any], str] | None = None,
    passes: Iterable[type[BaseException]] | None = None, labels: Iterable[str] = (),
) -> Any:  # fmt: skip
    """Make a function hookable: `@hookable`, or `@hookable("reply")`.

    It works on `def`, `async def`, generators and async generators, on methods, under or above
    `@classmethod` and `@staticmethod`, and on functions. What it returns is a plain function with
    the signature, annotations and docstring of the bare one, async where that is. Decorating twice
    is one hook.

    Args:
        name: the hook's name, which its signals end in; None is the function's own name.
        bus: the bus its signals live on.
        require_guard: True blocks every call that no guard of `pre` watches over: one that is connected
            to the object, a class of it or `ANY`, enabled, enforced and without `when=`. None is as
            the hookable says that it overrides.
        on_block: what the caller of a blocked call gets where the verdict brings no result, and
            where a guard failed: what this plain function returns, given the `HookBlocked`. If it
            fails, that goes out. None is as the hookable says that it overrides; without one the
            caller gets the exception.
        sender: of a function: the argument that is the sender of its calls, as an object is of its
            methods'; what is connected to that object, its class or `ANY` is asked. None is the
            function itself.
        async_receivers: of a plain function: True has it wait for async receivers (not arounds), which run
            on an event loop in a thread of their own; otherwise they are refused.
        sealed: False lets the contents of arguments change between a guard's verdict and the
            method; otherwise a `dict`, `list`, `set` or `bytearray` among them, at any depth, that
            is changed in place after a guard of `pre` judged it blocks the call, as does a result
            after a guard of `post`. None is as the hookable says that it overrides.
        passes: exceptions by which a framework takes control back, raised by the method: they are
            no failure. The call ends as `paused`; no `error` receiver and no `around` sees them but
            as a `CallPaused`. None is as the hookable says that it overrides.
        labels: arguments that name a call, such as a tool's name: they are in `Started` and
            `Finished` without `Bus(values=True)`.
        identity: what the sender is known by where a call is approved: what this plain function
            returns, given the sender, a non-empty string. None is as the hookable says that it
            overrides; without one an object is known by its class, and a class or a function by
            its name. A store of approvals needs it for what is made inside a function.

    Returns:
        The hookable function, or a decorator that makes one.

    Raises:
        HookError: if it is not a function, is hookable already under another name, has no argument
            called as `sender` says, or is async and asked to wait.
    """
    check_bus(bus)
    given = given_of(
        require_guard=require_guard, on_block=on_block, sender=sender, async_receivers=async_receivers, sealed=sealed,
        identity=identity, passes=passes, labels=labels,
    )  # fmt: skip
    if name is None or isinstance(name, str):
        return lambda function: hooked(function, name, bus, given)
    return hooked(name, None, bus, given)


def hooked(
    function: Any, name: str | None, bus: Bus, given: Given, *, is_said: bool = False
) -> Any:
    """Return the hookable of a function; its colour may have been said by who knows it."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(hooked(function.__func__, name, bus, given))
    _check_function(function)
    name = str(function.__name__ if name is None else name)
    present = hook_of(function)
    if present is not None:
        said = given in (NOTHING_SAID, present.given)
        if present.name == name and present.bus is bus and said:
            return function
        raise HookError(
            f"{function.__qualname__} is hookable already as {present.name!r}; one function is one "
            f"hook{'' if said else ': say its options where it is made'}"
        )
    _check_fit(function, given)
    inside, outside = colour_of(inspect.unwrap(function)), colour_of(function)
    if not is_said and inside != outside:
        warn(
            f"{function.__qualname__} is {inside} below a decorator and looks {outside} above it: "
            "put @hookable below that decorator"
        )
    hook = Hookable(name, bus, function, given)
    bus._declare(hook)
    return hook.shell


def _check_fit(function: Any, given: Given) -> None:
    """Refuse what was said of a function that it cannot be."""
    kinds = {p.name: p.kind for p in signature_of(function).parameters.values()}
    kind = kinds.get(given.sender or "")
    if given.sender is not None and kind in (None, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        named = [name for name in kinds if name != "self"]
        raise HookError(
            f"sender={given.sender!r} is no argument of "
            f"{function.__qualname__}{did_you_mean(str(given.sender), named)}"
        )
    for option in ("labels", "read_only", "sealed_fields", "hidden"):
        for name in getattr(given, option):
            if name not in kinds and (option, name) != ("sealed_fields", "result"):
                raise HookError(
                    f"{option}= names {name!r}, which is not an argument of "
                    f"{function.__qualname__}{did_you_mean(name, kinds)}"
                )
    if given.hidden and given.hidden != (*kinds,)[-len(given.hidden) :]:
        raise HookError(f"hidden={given.hidden!r} must be the last parameters")
    if given.async_receivers and colour_of(function) != "sync":
        raise HookError(
            f"{function.__qualname__} is {colour_of(function)}: async_receivers= is for a plain def"
        )


def _is_tool(given: Any) -> bool:
    """Tell whether an object was made of a function by a decorator, as the tools of frameworks
    are.
    """
    if isinstance(given, partial):
        return False
    return any(isinstance(getattr(given, name, None), FunctionType) for name in _WRAPPED)


def _is_types_coroutine(function: Any) -> bool:
    """Tell whether `types.coroutine` made a function: what it returns is awaited, and its code says
    another thing.
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


def _check_function(function: Any) -> None:
    instead, has_name = None, hasattr(function, "__qualname__")
    if isinstance(function, property):
        instead = "a property: decorate its getter, below @property"
    elif isinstance(function, type):
        instead = "a class: decorate its methods, or call instrument(cls, 'method', ...)"
    elif inspect.ismethod(function):
        instead = "a bound method: decorate the function in its class"
    elif not has_name and _is_tool(function):
        kind = type(function).__name__
        instead = f"a {kind} around a function: swap the two decorators, @hookable below the other"
    elif _is_types_coroutine(function):
        instead = "made by @types.coroutine, whose calls are awaited: write async def"
    elif not callable(function) or inspect.isbuiltin(function) or not has_name:
        instead = f"{article(str(type(function).__name__))}: decorate a function"
    if instead is not None:
        raise HookError(f"hookable cannot take {function!r:.60}, {instead}")
    try:
        signature_of(function)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        raise HookError(
            f"hookable cannot take {function!r:.60}: it has no signature to read (built-in?)"
        ) from None
