"""Connects Agno's own hooks as receivers, in the order of Agno's lists."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

from hookbus import Bus, Connection

from ..._ground.signatures import signature_of
from .._own_hooks import Hook, Mirror, OwnHook, title_of


class AroundHook(OwnHook):
    """The receiver for a hook that wraps the rest of the call."""

    __signature__ = signature_of(lambda owner, call, ctx, call_next: None)

    def __call__(  # type: ignore[override]
        self, owner: Any, call: Any, ctx: Any, call_next: Hook
    ) -> Any:
        return call.ask_around(self, ctx.kwargs, call_next)


def is_async_hook(hook: Any) -> bool:
    """Return whether a hook is a coroutine function, a partial of a coroutine function, or an
    object with an async `__call__`."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    call = getattr(type(hook), "__call__", None)  # noqa: B004 - the method itself is wanted
    return any(inspect.iscoroutinefunction(each) for each in (hook, inspect.unwrap(hook), call))


class Registry(Mirror[OwnHook]):
    """The connected hooks of each owner, synchronized with Agno's lists."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus

    def sync(self, owner: Any, signal: str, hooks: Sequence[Hook], **options: Any) -> None:
        """Connect new hooks in the list, and disconnect hooks that the list no longer contains.

        Args:
            owner: the tool, agent or team that has these hooks.
            signal: the name of the signal, such as `"around_tool_call"`.
            hooks: the list of hooks, with the outermost hook first.
            options: the options with which each hook is connected.

        Raises:
            HookError: if a hook cannot be connected.
        """
        make = AroundHook if signal.startswith("around_") else OwnHook

        def connect(index: int, hook: Hook) -> tuple[OwnHook, Connection]:
            own = make(hook, index)
            return own, self._bus.signal(signal).connected_to(
                own, owner, name=title_of(hook), **options
            )

        marks = self.marks(owner, signal)
        if len(marks) != len(hooks) or not all(map(_is_of, marks, hooks)):
            self.follow(owner, signal, hooks, _is_of, connect)


def _is_of(own: OwnHook, hook: Hook) -> bool:
    return own.is_same(hook) is not None
