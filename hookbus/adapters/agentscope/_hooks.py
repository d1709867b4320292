"""Connects the hooks that are registered with AgentScope as receivers, in the order of AgentScope's
dicts."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from hookbus import Bus, Connection, HookContext, HookError

from ..._ground.signatures import signature_of
from .._own_hooks import Mirror
from ._calls import current

Lookup = Callable[[], Mapping[str, Callable[..., Any]]]
"""Returns the dict in which AgentScope stores an agent's or a class's hooks of one phase."""


class StrictHook:
    """The receiver for a hook registered with AgentScope, with the rules of hookbus.

    The receiver references neither the hook nor the agent, and looks up the hook on each call. An
    agent can therefore be garbage-collected even if one of its own hooks references it. The hook's
    return value has the same meaning as for any receiver of hookbus: a dict patches the arguments,
    `Block` and `Replace` are verdicts, and an awaitable is awaited.
    """

    on_error: ClassVar[Literal["isolate", "raise"] | None] = None
    __signature__ = signature_of(lambda agent, ctx: None)

    def __init__(self, phase: str, scope: str, name: str, lookup: Lookup) -> None:
        self.phase, self.scope, self.name, self.lookup = phase, scope, name, lookup

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        # The place that `explain` and failures show for this receiver.
        return self.lookup()[self.name]

    def __call__(self, agent: Any, ctx: HookContext) -> Any:
        hook = self.lookup().get(self.name)
        if hook is None:
            return None
        kwargs = dict(ctx.kwargs)
        return hook(agent, kwargs) if self.phase == "pre" else hook(agent, kwargs, ctx.result)


class FaithfulHook(StrictHook):
    """The receiver for a hook registered with AgentScope, with exactly the rules of AgentScope
    1.0.21."""

    on_error = "raise"

    def __call__(self, agent: Any, ctx: HookContext) -> Any:
        running = current(agent, ctx.hook)
        if running is None:
            raise HookError(f"{self.name} was called outside of a call of AgentScope's {ctx.hook}")
        if self.scope == "class" and running.class_hooks(self.phase) is not self.lookup():
            return None  # a subclass has its own dict, which hides this one
        if self.phase == "pre":
            return running.ask_pre(self.scope, self.name, ctx)
        return running.ask_post(self.scope, self.name, ctx)


class Registry(Mirror[str]):
    """The connected hooks of each agent and class, synchronized with AgentScope's dicts."""

    def __init__(self, bus: Bus, make: type[StrictHook]) -> None:
        super().__init__()
        self._bus, self._make = bus, make

    def sync(self, owner: Any, scope: str, hook_type: str, lookup: Lookup) -> None:
        """Connect new hooks in the dict, and disconnect hooks that the dict no longer contains. The
        connected hooks have the order of the dict.

        Args:
            owner: the agent or class that owns the dict.
            scope: `"instance"` or `"class"`.
            hook_type: the phase and the hook, such as `"pre_reply"`.
            lookup: returns the dict; it must not hold a strong reference to the agent.

        Raises:
            HookError: if a hook cannot be connected.
        """

        def connect(_: int, name: str) -> tuple[str, Connection]:
            receiver = self._make(hook_type.partition("_")[0], scope, name, lookup)
            return name, self._bus.signal(hook_type).connected_to(
                receiver, owner, name=str(name) or "''", on_error=self._make.on_error
            )

        self.follow(owner, hook_type, list(lookup()), operator.eq, connect)

    def is_equal(self, owner: Any, hook_type: str, hooks: Mapping[str, Any]) -> bool:
        """Return whether exactly these hooks are connected, in this order."""
        return self.marks(owner, hook_type) == list(hooks)


def dict_owner(cls: type, attribute: str) -> type | None:
    """Return the class that owns the dict of hooks for agents of this class, or None."""
    return next((base for base in cls.__mro__ if attribute in vars(base)), None)


def lookup_of_instance(agent: Any, attribute: str) -> Lookup:
    """Return a lookup of an agent's dict that holds only a weak reference to the agent."""
    reference = weakref.ref(agent)
    return lambda: getattr(reference(), attribute, {})


def lookup_of_class(cls: type, attribute: str) -> Lookup:
    """Return a lookup of a class's own dict that holds only a weak reference to the class."""
    reference = weakref.ref(cls)
    return lambda: vars(reference()).get(attribute, {}) if reference() is not None else {}
