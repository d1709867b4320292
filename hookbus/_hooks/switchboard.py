"""Discard plans that are outdated. Signals and the bus report every change of connections, hooks
and classes to the switchboard. It then discards the affected plans, and switches the shells of
hooks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any, Final

from blinker import ANY

from .._connections.phases import PHASES
from .._connections.senders import is_shared
from .._ground.finalizers import on_finalized
from .._ground.locks import serialize_writers
from ..exceptions import HookError
from .hook import Hook
from .identity import IdentityMap, InstanceRuns, RunTable, release

if TYPE_CHECKING:
    from .._connections.protocols import Events, Signal
    from .._connections.receiver import Connected
    from .._connections.signal import HookSignal


MOST_NAMES: Final = 4096
"""The maximum number of connection names to remember."""

_all: Final[weakref.WeakSet[Switchboard]] = weakref.WeakSet()


def buses() -> list[Any]:
    """Return every bus that exists."""
    return [board.events._bus for board in list(_all)]


class Switchboard:
    """The hooks of one bus, and the routes of their calls.

    Attributes:
        events: the signal that delivers events.
        signals: the signals of hooks, by hook and phase.
        looked_at: the classes that receivers were connected to, or whose methods were called. The
            value for a class is the set of hooks whose overrides were already searched.
        required: the hooks whose calls are blocked if no guard covers them, as set by an operator.
        apply_switches: a function that applies an operator's settings to a new connection. It is
            None if there are no settings.
        names: the names of the latest connections, including removed connections.
    """

    events: Events

    def __init__(self) -> None:
        self.signals: dict[str, dict[str, HookSignal]] = {}
        self.looked_at: IdentityMap[set[str]] = IdentityMap()
        self.required: frozenset[str] = frozenset()
        self.apply_switches: Callable[[Connected], None] | None = None
        self.names: dict[str, None] = {}
        self._hooks: dict[str, dict[int, weakref.ref[Hook]]] = {}

    def emit_to(self, events: Events) -> None:
        """Set the signal that delivers events. This completes the initialization of a bus."""
        self.events = events
        _all.add(self)

    # -- queries -----------------------------------------------------------------------------

    def hook_names(self) -> list[str]:
        """Return the names of all declared hooks."""
        return list(self._hooks)

    def declared(self, name: str) -> list[Hook]:
        """Return the hooks with a name."""
        hooks = self._hooks.get(name)
        return [*filter(None, map(call, list(hooks.values())))] if hooks else []

    def hooks(self) -> Iterator[Hook]:
        """Yield every hook."""
        for name in self.hook_names():
            yield from self.declared(name)

    def signals_of(self, hook: str) -> list[HookSignal]:
        """Return the existing signals of a hook, in phase order."""
        by_phase = self.signals.get(hook)
        return [*filter(None, map(by_phase.get, PHASES))] if by_phase else []

    def look_at(self, cls: type) -> set[str]:
        """Record a class. Return the hooks whose overrides were already searched in this class."""
        if (found := self.looked_at.get(cls)) is None:
            self.looked_at.set(cls, found := set())
        return found

    def has_own(self, name: str, sender: object) -> bool:
        """Return whether a receiver of a hook is connected to exactly this sender."""
        return any(signal._has_own(sender) for signal in self.signals_of(name))

    # -- changes of hooks --------------------------------------------------------------------------

    def declare(self, hook: Hook) -> None:
        """Add a hook.

        Raises:
            HookError: if the name is already used and one of the two hooks is a hookspec.
        """
        for other in self.declared(hook.name):
            bodies = hook.body, other.body
            # It is not a conflict if a reload of the module declares the same question again.
            is_again = len({(body.__module__, body.__qualname__) for body in bodies}) == 1
            if other.is_question != hook.is_question or (hook.is_question and not is_again):
                raise HookError(
                    f"the name {hook.name!r} is already used on this bus by {other!r}: a hookspec "
                    "needs a unique name, so pass another name= to one of them"
                )
        hooks, key = self._hooks.setdefault(hook.name, {}), id(hook)
        hooks[key] = weakref.ref(hook, partial(hooks.pop, key))
        self.discard(hook.name)

    def retire(self, hook: Hook) -> None:
        """Remove a hook. From then on, its calls run the original function."""
        self._hooks.get(hook.name, {}).pop(id(hook), None)
        self.discard(hook.name)
        hook.is_retired = True
        hook.own_runs.clear()
        self.discard_plans(hook)
        self.route(hook)
        for cls in self.looked_at.owners():
            release(cls, hook)
            release(type(cls), hook)

    def discard(self, name: str) -> None:
        """Discard the plans of all hooks with a name, because a class or the set of hooks has
        changed.
        """
        signals = self.signals_of(name)
        for signal in signals:
            signal._registry.checked = set()
        owners = [sender for signal in signals for sender in signal._own_senders()]
        for hook in self.declared(name):
            self.discard_plans(hook)
            for sender in owners:
                self.route(hook, sender)
            self.route(hook)

    # -- changes of connections --------------------------------------------------------------------

    def note_name(self, name: str) -> None:
        """Record the name of a new connection, which an operator may then switch by name."""
        self.names[name] = None
        while len(self.names) > MOST_NAMES:
            self.names.pop(next(iter(self.names)), None)

    def changing(self, signal: Signal, sender: Any) -> None:
        """Record that a connection of this signal is about to change."""
        if not is_shared(sender):
            for hook in self.declared(signal.hook):
                hook.own_changed = object()  # plans that are currently being created are not cached

    def changed(self, signal: Signal, sender: Any, *, is_more: bool = False) -> None:
        """Discard the plans and switch the shells that a changed connection affects. `sender` is
        the sender of the connection, or None if the sender was freed together with its plan.
        """
        if signal is self.events:
            self.events.forget()
            for name in self.hook_names():
                self.discard(name)
            return
        is_of_many, hooks = sender is ANY or is_shared(sender), self._hooks.get(signal.hook)
        for reference in list(hooks.values()) if hooks else ():
            if (hook := reference()) is None:
                continue
            if not is_of_many:
                self.route(hook, sender)
            elif not (self.discard_plans(hook) and is_more):
                self.route(hook)

    def muting(self, signal: HookSignal) -> None:
        """Make every call check again whether the signal is muted, because muting began or ended.
        """
        for hook in self.declared(signal.hook):
            self.discard_plans(hook)

    # -- one hook ----------------------------------------------------------------------------------

    @serialize_writers
    def discard_plans(self, hook: Hook) -> bool:
        """Make every call to a hook look up its plan again. Return whether calls already looked up
        the receivers of classes and `ANY`.
        """
        hook.routing = object()  # concurrent code that is deciding this starts again
        table, own, is_on = hook.routes.state()
        # Code that creates a plan marks the table as used before it reads anything.
        if table.is_used:
            # One atomic operation: code that is still creating a plan stores it in the old table.
            hook.routes.give(runs=RunTable().get)
            table.end()
        for held in list(own.values()) if own else ():
            owner = held.__self__.reference()
            if held.__self__.is_used and owner is not None:
                self.route(hook, owner)
        return is_on

    @serialize_writers
    def route(self, hook: Hook, sender: object = None) -> None:
        """Update the code of a shell for the current connections, and update the cache for the plan
        of `sender`. If a thread or signal handler changes connections in the meantime, the update
        starts again. An outdated update could let a call bypass a connected guard. Therefore, one
        line of code checks and stores the result, and this line calls no Python function. Without a
        GIL, a lock also makes other threads wait.
        """
        own, shell, now = hook.routes.state()[1], hook.routes.function, None
        while hook.routing is not now:
            hook.routing = now = object()
            if sender is not None and self.has_own(hook.name, sender):
                own[id(sender)] = InstanceRuns(sender, on_finalized(sender, own, id(sender))).get
            elif sender is not None:  # noqa: SIM102
                if hook.routing is now: own.pop(id(sender), None)  # noqa: E701
            code = hook.routes.code(is_on=self._is_on(hook), has_own=bool(own))
            if hook.routing is now: shell.__code__ = code  # noqa: E701

    def _is_on(self, hook: Hook) -> bool:
        if hook.is_question:
            return True  # the original method cannot run directly
        if hook.is_retired:
            return False
        if hook.name in self.required or not hook.is_looked_at:
            return True
        for each in self.declared(hook.name):
            if each.settings.require_guard:
                return True  # it may override this one
        for signal in list(self.signals.get(hook.name, {}).values()):
            if signal._registry.has_shared():
                return True
        return self.is_observed

    @property
    def is_observed(self) -> bool:
        """Whether any listener receives events of calls."""
        return any(kind._is_of_call for kind in self.events.listened_kinds)
