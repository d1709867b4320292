"""The decorator `@hookspec`, which declares a named question that receivers answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, Unpack, overload

from .. import modes
from .._bus import Bus, default_bus
from .._callables.callables import is_coroutine_callable
from .._connections.signal import HookSignal
from .._ground.errors import did_you_mean
from .._ground.keywords import check_bus, named_options
from .._ground.signatures import signature_of
from .._hooks.hook import hook_of
from .._hooks.signature import kind_of
from .._merging.merging import is_async
from ..exceptions import HookError
from . import protocols
from .asking import Asking
from .protocols import Declared, Of, R
from .providers import AsyncScope, SyncScope
from .spec import Panel, Rules, Spec


@overload
def hookspec(mode: protocols.Void, **options: Unpack[Declared]) -> Of[None]: ...
@overload
def hookspec(mode: protocols.One, **options: Unpack[Declared]) -> protocols.OfOne: ...
@overload
def hookspec(mode: protocols.Many, **options: Unpack[Declared]) -> protocols.OfMany: ...
@overload
def hookspec(mode: protocols.Asks[R], **options: Unpack[Declared]) -> Of[R]: ...
@overload
def hookspec(mode: protocols.AsksWith[R], **options: Unpack[Declared]) -> Of[R]: ...
@overload
def hookspec(mode: protocols.AsksAsync, **options: Unpack[Declared]) -> Of[Any]: ...
@overload
def hookspec(mode: Callable[[list[Any]], R], **options: Unpack[Declared]) -> Of[R]: ...
@named_options
def hookspec(
    mode: Any, *, name: str | None = None, bus: Bus = default_bus, historic: bool = False
) -> Any:
    """Declare a question: put `@hookspec(mode)` on a `def` or `async def`. Its parameters are the
    arguments of the question.

    The body of the function never runs. Connect receivers to the decorated function. You can also
    connect them by the name of the question, with `@receives("name")` and `bus.register(obj)`. The
    parameters of a receiver select the arguments that it needs. An `async def` question accepts
    sync and async receivers. A `def` question accepts only plain functions.

    Args:
        mode: a function of `hookbus.modes` or your own function, which combines the answers into
            one result.
        name: the name of the question. None means the name of the function.
        bus: the bus of the question.
        historic: whether to record the arguments of every call, so that `replay()` can call
            receivers that are connected later.

    Returns:
        A decorator. It returns a plain function with the signature of the decorated function. Call
        this function to ask the question. `Hookspec` describes its methods.

    Raises:
        HookError: if the function cannot be a question, or if the name is already used on the bus.
            The message contains the correct form.
    """
    check_bus(bus)
    if is_coroutine_callable(mode):
        raise HookError(
            f"the mode {mode!r:.60} is async, so its result would never be awaited: "
            "write a plain def, or an async generator"
        )
    rules = Rules(mode, modes.steps_of(mode), historic)

    def declare(function: Any, /) -> Any:
        return _declared(function, name, bus, rules)

    return declare


def _declared(function: Any, given: str | None, bus: Bus, rules: Rules) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise HookError(
            f"hookspec cannot take {function!r:.60}: "
            "put it on a def or an async def, with a mode: @hookspec(modes.firstresult)"
        )
    name = function.__name__ if given is None else given
    kind, written_as = kind_of(function), function.__qualname__
    if hook_of(function) is not None:
        raise HookError(f"{written_as} is already a hook; a function can be only one hook")
    if "generator" in kind:
        raise HookError(
            f"{written_as} is a {kind}, but a question has one result: "
            "write a def or an async def"
        )
    signal = HookSignal(name, bus)
    if signal.phase is not None:
        what = f"which is the signal {signal.phase!r} of a hook {signal.hook!r}"
        raise HookError(f"a hookspec cannot be named {name!r}, {what}: choose another name")
    if is_async(rules.mode) and kind == "sync":
        raise HookError(
            f"the mode {rules.mode_name} is async, "
            f"but {name} is a plain def, which cannot await it: write an async def"
        )
    _check_needs(function, name, rules)
    spec = Spec(name, bus, function, rules)
    shell, signal = spec.shell, spec.signal
    own = {
        "signal": signal, "disconnect": signal.disconnect, "muted": signal.muted,
        "ask": partial(_ask, spec), "replay": partial(_replay, spec), "retire": spec.retire,
        "scope": partial(AsyncScope if spec.is_async else SyncScope, spec),
        **{way: partial(_by, spec, way) for way in ("connect", "connect_via", "connected_to")},
    }  # fmt: skip
    shell.__dict__.update(own)
    return shell


def _check_needs(function: FunctionType, name: str, rules: Rules) -> None:
    names = signature_of(function).parameters
    for needed in getattr(rules.mode, "needs", ()):
        if needed not in names:
            raise HookError(
                f"the mode {rules.mode_name} needs the argument {needed!r}, "
                f"which {name} does not have{did_you_mean(needed, names)}"
            )


def _by(spec: Spec, way: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a question's signal. The question is kept alive until the method returns."""
    return getattr(spec.signal, way)(*args, **kwargs)


def _ask(spec: Spec, /, *args: Any, **kwargs: Any) -> Any:
    panel = spec.panel()
    return _answers(spec, panel, Asking(panel.seats, asks_all=True), args, kwargs)


def _replay(spec: Spec) -> Any:
    if not spec.rules.is_historic:
        name = spec.name
        raise HookError(
            f"{name} records nothing to replay: declare it with @hookspec(mode, historic=True)"
        )
    asked = _asked_anew(spec)
    return _replay_later(asked) if spec.is_async else tuple(asked)


def _asked_anew(spec: Spec) -> Iterator[Any]:
    # Mark each receiver only when it is called: if one raises, the others remain for the next
    # replay.
    for past in list(spec.history):
        panel = spec.panel()
        seats = panel.newcomers(past)
        if seats:
            call = inspect.Signature(spec.parameters).bind_partial()
            call.arguments.update(spec.function_signature.bind(past.values))
            asking = Asking(seats, past, asks_all=True)
            yield _answers(spec, panel, asking, call.args, call.kwargs)


async def _replay_later(asked: Iterator[Any]) -> tuple[modes.Answers[Any, Any], ...]:
    return tuple([await answers for answers in asked])


def _answers(spec: Spec, panel: Panel, asking: Asking, args: Any, kwargs: Any) -> Any:
    """Ask all receivers, and return their answers."""
    result = panel.run_round(asking, *args, **kwargs)
    return _answers_later(asking, result) if spec.is_async else _told(asking, result)


async def _answers_later(asking: Asking, result: Any) -> modes.Answers[Any, Any]:
    return _told(asking, await result)


def _told(asking: Asking, result: Any) -> modes.Answers[Any, Any]:
    answers = tuple(answer for _, answer in asking.answers)
    return modes.Answers(answers, tuple(asking.failures), result)
