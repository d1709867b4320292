"""Make functions hookable with the decorator `@hookable`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter
from types import FunctionType
from typing import Any, Final, TypeVar, overload

from ._bus import Bus, default_bus
from ._ground.errors import did_you_mean, warn
from ._ground.keywords import check_bus, named_options
from ._ground.signatures import signature_of
from ._hooks.hook import Hook, hook_of
from ._hooks.signature import kind_of
from ._hooks.site import DEFAULTS, HookSettings, settings_of
from .exceptions import HookBlocked, HookError

F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, ..., Any] | staticmethod[..., Any]")

_NOT_SINGLE: Final = (None, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


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
    """Make a function hookable: write `@hookable`, or `@hookable("reply")`.

    The decorator works on `def`, `async def`, generators and async generators, as methods or
    functions. It can be under or above `@classmethod` and `@staticmethod`. The result is a plain
    function with the signature, annotations and docstring of the original. The result is async if
    the original is async. To decorate a function twice has no further effect.

    Args:
        name: the name of the hook. Its signals are called `pre_<name>`, `post_<name>` and so on.
            None means the name of the function.
        bus: the bus of the signals.
        require_guard: True blocks every call that has no guard in `pre`. A guard is sufficient if
            it is connected to the object, to one of its classes or to `ANY`. It must be enabled,
            must not be in shadow mode, and must not have a `when=`. None inherits the setting of
            the hookable that this one overrides.
        on_block: a plain function that takes the `HookBlocked` and returns the result for the
            caller of a blocked call. hookbus calls the function if the verdict has no result or if
            a guard failed. If the function raises an exception, the caller gets the `HookBlocked`.
            None inherits the setting of the overridden hookable. Without such a setting, the caller
            gets the exception.
        sender: for a function, the name of the argument that is the sender of its calls. Receivers
            that are connected to this object, its class or `ANY` are called. None means that the
            function itself is the sender.
        async_receivers: for a plain function, whether its calls wait for async receivers. These
            receivers run on an event loop in a separate thread, and cannot be arounds. By default,
            a plain function rejects async receivers.
        sealed: False allows changes to the contents of arguments after the guards have run.
            Otherwise, each `dict`, `list`, `set` or `bytearray` in the arguments is sealed at any
            depth. If code changes one of them in place after a `pre` guard allowed the call, the
            call is blocked. The same applies to a result after a `post` guard. None inherits the
            setting of the overridden hookable.
        passes: the exceptions with which the method hands control back to its framework. hookbus
            does not treat them as failures. The call ends as `paused`, `error` receivers are not
            called, and an `around` gets a `CallPaused`. None inherits the setting of the overridden
            hookable.
        labels: the arguments that identify a call, such as the name of a tool. `Started` and
            `Finished` contain them even without `Bus(values=True)`.
        identity: a plain function that takes the sender and returns a non-empty string. Approvals
            identify the sender by this string. None inherits the setting of the overridden
            hookable. Without such a function, an object is identified by its class, and a class or
            function by its name. An approval store requires `identity` for classes and functions
            that are defined inside a function.

    Returns:
        The hookable function, or a decorator that makes a function hookable.

    Raises:
        HookError: if the object is not a function, if it is already hookable under another name, if
            it has no argument named by `sender`, or if `async_receivers` is set for an async
            function.
    """
    check_bus(bus)
    settings = settings_of(
        require_guard=require_guard, on_block=on_block, sender=sender,
        async_receivers=async_receivers, sealed=sealed, identity=identity, passes=passes,
        labels=labels,
    )  # fmt: skip
    if name is None or isinstance(name, str):
        return lambda function: hooked(function, name, bus, settings)
    return hooked(name, None, bus, settings)


def hooked(function: Any, name: str | None, bus: Bus, settings: HookSettings) -> Any:
    """Make a function hookable and return the result."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(hooked(function.__func__, name, bus, settings))
    _check_function(function, bus)
    name = str(function.__name__ if name is None else name)
    present = hook_of(function)
    if present is not None:
        is_same = settings in (DEFAULTS, present.settings)
        if present.name == name and present.bus is bus and is_same:
            return function
        hint = "" if is_same else ": pass its options where it is first made hookable"
        raise HookError(
            f"{function.__qualname__} is already hookable as {present.name!r}; a function can be "
            f"only one hook{hint}"
        )
    _check_fit(function, settings)
    inside, outside = kind_of(inspect.unwrap(function)), kind_of(function)
    if inside != outside:
        warn(
            f"{function.__qualname__} is {inside} below a decorator, but {outside} above it: "
            "put @hookable directly above the function, below the other decorator"
        )
    hook = Hook(name, bus, function, settings)
    bus._declare(hook)
    return hook.shell


def _check_fit(function: Any, settings: HookSettings) -> None:
    """Raise HookError for options that do not suit the function."""
    kinds = {p.name: p.kind for p in signature_of(function).parameters.values()}
    is_single = kinds.get(settings.sender or "") not in _NOT_SINGLE
    if settings.sender is not None and not is_single:
        named = [name for name in kinds if name != "self"]
        raise HookError(
            f"sender={settings.sender!r} is not an argument of "
            f"{function.__qualname__}{did_you_mean(str(settings.sender), named)}"
        )
    for option in ("labels", "read_only", "sealed_fields", "hidden"):
        for name in getattr(settings, option):
            if name not in kinds and (option, name) != ("sealed_fields", "result"):
                raise HookError(
                    f"{option}= names {name!r}, which is not an argument of "
                    f"{function.__qualname__}{did_you_mean(name, kinds)}"
                )
    if settings.hidden and settings.hidden != (*kinds,)[-len(settings.hidden) :]:
        raise HookError(f"hidden={settings.hidden!r} must name the last parameters of the function")
    if settings.async_receivers and kind_of(function) != "sync":
        raise HookError(
            f"async_receivers= is only for a plain def, and {function.__qualname__} is "
            f"{kind_of(function)}: leave it out"
        )


def _check_function(function: Any, bus: Bus) -> None:
    """Raise HookError for an object that cannot be made hookable."""
    is_plain = type(function) is FunctionType and not function.__dict__
    if is_plain and not function.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE:
        return  # the usual case
    if (problem := bus._advice.problem_with_function(function)) is not None:
        raise HookError(f"hookable cannot take {function!r:.60}{problem}")
