"""Agno's own hooks as receivers: one connection for each, in the order of Agno's own lists."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from hookbus import Bus, Connection

from ._mirror import Mirror

Hook = Callable[..., Any]


class OwnHook:
    """The receiver for one of Agno's own hooks.

    It knows the place of the hook in its list and neither the hook nor its owner; the call it is asked in knows the hook. So
    an agent whose own hook knows it is collected like any other.

    Attributes:
        index: the place in the list.
        names: the parameters of the hook; None where its signature cannot be read, which shows when it is called.
    """

    __signature__ = inspect.signature(lambda owner, call, ctx: None)

    def __init__(self, hook: Hook, index: int) -> None:
        self.index, self.names = index, names_of(hook)
        self.is_same = _same_as(hook)

    @property
    def __wrapped__(self) -> Hook:
        # Where `explain` and failures say that this receiver stands.
        hook: Hook | None = self.is_same(None)
        if hook is None:
            raise AttributeError("the hook is gone")
        return hook

    def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        return call.ask_own(self)


class AroundHook(OwnHook):
    """The same for a hook that has the rest of the call inside."""

    __signature__ = inspect.signature(lambda owner, call, ctx, call_next: None)

    def __call__(self, owner: Any, call: Any, ctx: Any, call_next: Hook) -> Any:  # type: ignore[override]
        return call.ask_around(self, ctx.kwargs, call_next)


def names_of(hook: Hook) -> frozenset[str] | None:
    """Return the names of a hook's parameters."""
    try:
        return frozenset(inspect.signature(hook).parameters)
    except (TypeError, ValueError):
        return None


def title_of(hook: Any) -> str:
    """Return the name a hook is listed under: its own, through partials, or that of its type."""
    while isinstance(hook, functools.partial) and not hasattr(hook, "__name__"):
        hook = hook.func
    return str(getattr(hook, "__name__", type(hook).__name__))


def is_async_hook(hook: Any) -> bool:
    """Tell whether a hook is known to be async: a coroutine function, a partial of one, or an object with async `__call__`."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    call = getattr(type(hook), "__call__", None)  # noqa: B004 - the method itself is wanted
    return any(inspect.iscoroutinefunction(each) for each in (hook, inspect.unwrap(hook), call))


def _same_as(hook: Hook) -> Callable[[Any], Any]:
    """Return what gives back the hook if it is alive and is (or is compared with None to) this very one."""
    try:
        held: Callable[[], Any] = weakref.ref(hook)
    except TypeError:
        held = functools.partial(_give, hook)
    return lambda other: None if held() is None or (other is not None and held() is not other) else held()


def _give(hook: Any) -> Any:
    return hook


class Registry(Mirror[OwnHook]):
    """Which hooks of which owner are connected, kept equal to Agno's own lists."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus

    def sync(self, owner: Any, signal: str, hooks: Sequence[Hook], **options: Any) -> None:
        """Connect the hooks that are in the list and are not connected, disconnect what is not in it any more.

        Args:
            owner: the tool, agent or team whose hooks these are.
            signal: such as `"around_tool_call"`.
            hooks: the list, outermost first.
            options: how each is connected.

        Raises:
            HookError: if one cannot be connected.
        """
        make = AroundHook if signal.startswith("around_") else OwnHook

        def connect(index: int, hook: Hook) -> tuple[OwnHook, Connection]:
            own = make(hook, index)
            return own, self._bus.signal(signal).connected_to(own, owner, name=title_of(hook), **options)

        marks = self.marks(owner, signal)
        if len(marks) != len(hooks) or not all(map(_is_of, marks, hooks)):
            self.follow(owner, signal, hooks, _is_of, connect)


def _is_of(own: OwnHook, hook: Hook) -> bool:
    return own.is_same(hook) is not None
