"""@hookspec: a named question that receivers answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Literal, overload

from .. import modes
from .._bus import Bus, default_bus
from .._connections.callables import is_async_callable
from .._hooks.hook import colour_of, hook_of
from ..exceptions import HookError
from .protocols import Many, Of, OfMany, OfOne, One, R, Void
from .spec import Rules, Spec, check_name

FallbackOn = Literal["none", "falsy"]
Function = Callable[..., Any]


@overload
def hookspec(
    mode: Void, *, name: str | None = None, bus: Bus = ..., fallback: None = None, fallback_on: FallbackOn = "none",
    dedup: None = None, historic: bool = False,
) -> Of[None]: ...  # fmt: skip
@overload
def hookspec(
    mode: One, *, name: str | None = None, bus: Bus = ..., fallback: Function | None = None,
    fallback_on: FallbackOn = "none", dedup: Function | None = None,
    historic: bool = False,
) -> OfOne: ...  # fmt: skip
@overload
def hookspec(
    mode: Many, *, name: str | None = None, bus: Bus = ..., fallback: Function | None = None,
    fallback_on: FallbackOn = "none", dedup: Function | None = None,
    historic: bool = False,
) -> OfMany: ...  # fmt: skip
@overload
def hookspec(
    mode: Callable[[Sequence[modes.Receiver[object]]], modes.Steps[Any, R]], *, name: str | None = None, bus: Bus = ...,
    fallback: Function | None = None, fallback_on: FallbackOn = "none", dedup: Function | None = None,
    historic: bool = False,
) -> Of[R]: ...  # fmt: skip
@overload
def hookspec(
    mode: Callable[[list[Any]], R], *, name: str | None = None, bus: Bus = ..., fallback: Function | None = None,
    fallback_on: FallbackOn = "none", dedup: Function | None = None,
    historic: bool = False,
) -> Of[R]: ...  # fmt: skip
def hookspec(
    mode: Any, *, name: str | None = None, bus: Bus = default_bus, fallback: Function | None = None,
    fallback_on: FallbackOn = "none", dedup: Function | None = None,
    historic: bool = False,
) -> Any:  # fmt: skip
    """Declare a question: `@hookspec(modes.firstresult)` on a `def` or `async def` whose parameters are its arguments.

    The body of the function never runs. Receivers are connected to what the decorator returns, or by the question's name with
    `@receives("name")` and `bus.plug(obj)`; they ask for its arguments by name. An `async def` may be answered by receivers
    of both colours, a `def` by plain functions only.

    Args:
        mode: how the answers become one: a function of `hookbus.modes`, or of one's own.
        name: the question's name; None is the function's own name.
        bus: the bus it lives on.
        fallback: called for the result where there is none, with the arguments it names.
        fallback_on: when that is: `"none"`, nobody has answered; `"falsy"`, the result is falsy.
        dedup: gives the key of an answer, or of each item of an answer that is a list or tuple; of two with the same key the
            later one is left out.
        historic: keep the arguments of everything that is asked, so that `replay()` can ask who was connected since.

    Returns:
        A decorator. What it returns is a plain function with the signature of the decorated one; call it to ask, and see
        `Hookspec` for what else it has.

    Raises:
        HookError: if it cannot be a question, naming what to write instead; or if the name is taken.
    """
    for what, given in (("mode", mode), ("dedup", dedup)):
        if is_async_callable(given):
            raise HookError(f"the {what} {given!r:.60} is async, and nobody would await it: write a plain def")
    steps = modes.steps_of(mode)
    rules = Rules(steps, fallback, fallback_on, dedup, historic)
    if steps is modes.void and (fallback is not None or dedup is not None):
        raise HookError("nothing comes back of void: leave fallback= and dedup= out, or use another mode")

    def declare(function: Any, /) -> Any:
        return _declared(function, name, bus, rules)

    return declare


def _declared(function: Any, given: str | None, bus: Bus, rules: Rules) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise HookError(
            f"hookspec cannot take {function!r:.60}: decorate a def or an async def, with a mode: @hookspec(modes.firstresult)"
        )
    name = function.__name__ if given is None else given
    colour = colour_of(function)
    if hook_of(function) is not None:
        raise HookError(f"{function.__qualname__} is a hook already; one function is one hook")
    if "generator" in colour:
        raise HookError(f"{function.__qualname__} is a {colour}, but a question has one result: write a def or an async def")
    check_name(name)
    rules.check(name, colour, tuple(inspect.signature(function).parameters))
    spec = Spec(name, bus, function, _enter, rules)
    shell = spec.shell
    own = {"signal": spec.signal, "connect": spec.connect, "connect_via": spec.connect_via, "connected_to": spec.connected_to,
           "disconnect": spec.signal.disconnect, "muted": spec.signal.muted, "ask": partial(_ask, spec),
           "replay": partial(_replay, spec), "scope": partial(_scope, spec)}  # fmt: skip
    shell.__dict__.update(own)
    return shell


def _enter(spec: Any, values: tuple[Any, ...]) -> Any:
    # What asks is loaded with the first question, as what runs calls is.
    from .answering import enter

    return enter(spec, values)


def _ask(spec: Spec, /, *args: Any, **kwargs: Any) -> Any:
    from .answering import ask_all

    try:
        bound = inspect.signature(spec.body).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{spec.name}.ask() {error}") from None
    bound.apply_defaults()
    return ask_all(spec, tuple(bound.arguments.values()))


def _replay(spec: Spec) -> Any:
    if not spec.rules.is_historic:
        raise HookError(f"{spec.name} keeps nothing to replay: declare it with @hookspec(mode, historic=True)")
    from .answering import replay

    return replay(spec)


def _scope(spec: Spec) -> Any:
    from .providers import AsyncScope, SyncScope

    return AsyncScope(spec) if spec.is_async else SyncScope(spec)
