"""The bus: its signals by name, its event stream, its hooks, and its background observers."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from operator import call
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Literal

from blinker import ANY

from ._approver import Answered
from ._connections.globs import Globs
from ._connections.listeners import EventSignal, Redacts
from ._connections.marks import marked
from ._connections.options import check_timeout, odd_timeout
from ._connections.phases import ANSWER, PHASES
from ._connections.receiver import Connected
from ._connections.senders import check_can_call, is_shared, own_class
from ._connections.signal import HookSignal
from ._connections.switches import Switches
from ._errors import warn
from ._hooks.holders import check_sender, check_serves, class_of
from ._hooks.hook import Hook, hook_of
from ._hooks.identity import IdentityMap
from ._hooks.operator import Operated
from ._hooks.overrides import say_overrides, uncovered_overrides, with_subclasses
from ._hooks.requirement import check_required
from ._hooks.statics import holder_of, static_holders
from ._hooks.strangers import Strangers
from ._keywords import named_options
from ._under_way import Drained, UnderWay
from .exceptions import HookError

if TYPE_CHECKING:
    from .events import Event


@named_options
class Bus(Answered, Drained, Operated, Redacts):
    """A set of hooks and signals that belong together. `default_bus` always exists; create another
    bus to isolate tests or tenants.

    Args:
        timeout: the time limit in seconds for receivers without their own `timeout=`; None means no
            limit.
        values: whether events contain arguments and results. By default they contain only names.
        max_background: the maximum number of observers with `background=True` that run at once.

    Attributes:
        events: the signal that emits events. Connect a listener with
            `bus.events.connect(listener)`; the bus calls `listener(bus, event)`.
        plugins: the `Plugins` object that `load_plugins` returned for this bus, or None.
    """

    timeout: float | None
    values: bool

    def __init__(
        self, timeout: float | None = None, values: bool = False, max_background: int = 1000
    ) -> None:
        check_timeout(timeout)
        if odd := odd_timeout(timeout):
            warn(odd)
        self.timeout, self.values = timeout, values
        self._under_way = UnderWay(max_background)
        self._signals: dict[str, HookSignal] = {}
        self._by_hook: dict[str, dict[str, HookSignal]] = {}
        self._hooks: dict[str, dict[int, weakref.ref[Hook]]] = {}
        self._looked_at: IdentityMap[set[str]] = IdentityMap()
        self.events: EventSignal = EventSignal(self)
        self._switches: Switches = Switches()
        self.plugins: Any = None
        self._strangers: Strangers = Strangers(self)
        self._globs: Globs = Globs(self)

    def __reduce__(self) -> str:
        if self is not default_bus:
            raise HookError(
                "only default_bus can be pickled: create other buses in the process that uses them"
            )
        return "default_bus"

    def __copy__(self) -> Bus:
        return self

    def __deepcopy__(self, memo: object) -> Bus:
        return self

    def signal(self, name: str, doc: str | None = None) -> HookSignal:
        """Return the signal with this name: a signal of a hook, such as `pre_reply`, or your own.
        The first call creates it, with `doc` as its docstring.

        Raises:
            HookError: if the name is not an identifier.
        """
        if not isinstance(name, str) or not name.isidentifier():
            said = f"a signal's name must be an identifier, such as 'pre_reply', not {name!r}"
            raise HookError(said + "; to listen to every hook, use bus.events" * ("*" in str(name)))
        found = self._signals.get(name)
        if found is None:
            made = HookSignal(name, self, doc)
            if made.phase is not None:
                # Set it here first: whoever finds the signal by name may connect to it at once.
                made = self._by_hook.setdefault(made.hook, {}).setdefault(made.phase, made)
            found = self._signals.setdefault(name, made)
        return found

    @property
    def _heard(self) -> frozenset[type[Event]]:
        """The kinds of events that have a listener right now."""
        return self.events.heard

    @property
    def _is_observed(self) -> bool:
        """Whether any listener receives events of calls."""
        return any(kind.__name__ not in ("Lost", "Switched") for kind in self._heard)

    @named_options
    def require_guard(
        self, hook: str, *, sender: Any = None, phase: Literal["pre", "item", "post"] = "pre"
    ) -> None:
        """Check at start-up that every call of a hook has a guard.

        A guard counts if it is connected to the class that declares the hook, to a base of that
        class, or to `ANY`. It must be enabled and enforced, and must not have a `when=`.

        Args:
            hook: the name of the hook.
            sender: a class, an object (whose own guards count, too), or a function. None means
                every class that declares the hook, and every function.
            phase: `"pre"`, `"item"` or `"post"`.

        Raises:
            HookError: if a class or function has no guard. The message names it, and explains why
                each existing guard does not count. Also if the hook is not declared, or if
                overrides of it are not hooked. For `tool_call` without a sender, also if an agent
                framework is imported but its adapter is not installed.
        """
        check_required(self, hook, phase, sender, default_bus)

    def register(self, plugin: object) -> Callable[[], None]:
        """Connect every method of the object `plugin` that is marked with `receives`. Return a
        function that disconnects them.

        A mark with a glob, such as `pre_send_*`, applies to every hook that matches, including
        hooks that are declared later.

        Raises:
            HookError: if no method is marked, or if one of them cannot be connected. In that case,
                none is connected.
        """
        with ExitStack() as registered:
            for attribute, name, options in marked(plugin):
                receiver = getattr(plugin, attribute)
                registered.callback(self._globs.connect(name, receiver, options))
            return registered.pop_all().close

    def hook_names(self) -> list[str]:
        """Return the names of the hooks declared on this bus."""
        return sorted(name for name in list(self._hooks) if self._declared(name))

    def signals(self) -> list[HookSignal]:
        """Return every signal that has been created so far, sorted by name."""
        return [signal for _, signal in sorted(self._signals.items())]

    # -- what hookables and signals report to the bus ----------------------------------------------

    def _declared(self, name: str) -> list[Hook]:
        hooks = self._hooks.get(name)
        if not hooks:
            return []
        return [*filter(None, map(call, list(hooks.values())))]

    def _signals_of(self, hook: str) -> list[HookSignal]:
        """Return the existing signals of a hook, in the order of the phases."""
        by_phase = self._by_hook.get(hook)
        return [by_phase[phase] for phase in PHASES if phase in by_phase] if by_phase else []

    def _declare(self, hook: Hook) -> None:
        for other in self._declared(hook.name):
            bodies = hook.body, other.body
            # The same question declared again, because its module was reloaded, is not a conflict.
            is_again = len({(body.__module__, body.__qualname__) for body in bodies}) == 1
            if other.is_question != hook.is_question or (hook.is_question and not is_again):
                raise HookError(
                    f"the name {hook.name!r} is already used on this bus by {other!r}: a hookspec "
                    "needs a name of its own, so pass another name= to one of them"
                )
        self._strangers.expect(hook)
        hooks, key = self._hooks.setdefault(hook.name, {}), id(hook)
        hooks[key] = weakref.ref(hook, partial(hooks.pop, key))
        self._forget(hook.name)
        self._globs.declared(hook.name)

    def _strike(self, hook: Hook) -> None:
        self._hooks.get(hook.name, {}).pop(id(hook), None)
        self._forget(hook.name)

    def _forget(self, name: str) -> None:
        """Invalidate the cached lookups of all hooks of this name: a class or the set of hookables
        has changed.
        """
        signals = self._signals_of(name)
        for signal in signals:
            signal._era = object()
        owners = [sender for signal in signals for sender in signal._own_senders()]
        for hook in self._declared(name):
            hook.forget()
            for sender in owners:
                hook.settle(sender)
            hook.settle()

    def _look_at(self, cls: type) -> set[str]:
        """Record a class. Return the hooks whose overrides were already searched for in it."""
        if (found := self._looked_at.get(cls)) is None:
            self._looked_at.set(cls, found := set())
        return found

    def _uncovered(self) -> list[str]:
        """List the overrides of hookable methods that are not hooked, and what receivers see of
        them. Only classes that were a sender, or were called, are listed.
        """
        declared = [hook for name in list(self._hooks) for hook in self._declared(name)]
        classes = [*self._looked_at.owners(), *(cls for _, cls in static_holders(declared))]
        return uncovered_overrides(self, with_subclasses(classes))

    def _class_of(self, hook: Hook) -> type | None:
        """Return the class whose method a hook is, or None if it is not known. It is known once it
        was a sender, was called, or can be imported by name.
        """
        return class_of(hook, self._looked_at.owners)

    def _changing(self, signal: HookSignal, sender: Any) -> None:
        """Note that a connection of this signal is about to be added or removed."""
        if not is_shared(sender):
            for hook in self._declared(signal.hook):
                hook._own_changed = object()  # plans that are being made now are not cached

    def _changed(self, signal: HookSignal, sender: Any, *, is_more: bool = False) -> None:
        """Update plans and switches after a connection of this signal was added, removed or
        changed.

        `sender` is what it was connected to; None if that object is dead and its plan is gone.
        """
        if signal is self.events:
            self.events.forget()
            for name in list(self._hooks):
                self._forget(name)
            return
        for hook in self._declared(signal.hook):
            if not is_shared(sender):
                hook.settle(sender)
                continue
            hook.forget()
            if not (is_more and hook.is_surely_on()):
                hook.settle()

    def _muting(self, signal: HookSignal) -> None:
        """Make every call check again whether the signal is muted: muting began or ended."""
        for hook in self._declared(signal.hook):
            hook.forget()

    def _check_sender(self, signal: HookSignal, sender: Any) -> None:
        if signal is self.events and sender is not ANY and sender is not self:
            raise HookError(
                "the sender of events is always the bus: leave out sender=, and to decorate "
                "write @events.connect_via()"
            )
        if signal.phase == ANSWER and sender is not ANY:
            name = signal.name
            raise HookError(
                f"{name} is a hookspec and takes no sender: write @{name}.connect or "
                f"@{name}.connect_via(priority=1)"
            )
        if sender is not ANY and signal.phase is not None:
            check_can_call(sender)
            if isinstance(sender, FunctionType):
                check_sender(self._declared(signal.hook), sender, self._looked_at.owners)

    def _check(self, signal: HookSignal, receiver: Connected, sender: Any) -> None:
        """Reject a connection that cannot work; warn about a guard that can be bypassed."""
        if signal is self.events:
            self.events.check(receiver)
            return
        is_met = check_serves(receiver, self._declared(signal.hook), sender)
        if receiver.role == "guard" and not (signal.phase and is_met):
            self._strangers.wait(signal)
        if receiver.on_error == "block" and sender is not ANY:
            own = hook_of(sender)
            cls = (own and holder_of(own)) or own_class(sender)
            classes = with_subclasses([cls]) if cls is sender or own else [cls]
            say_overrides(self, receiver.label, signal.hook, classes, warn)


default_bus: Final = Bus()
"""The bus that `hookable`, `instrument` and `signal` use unless you pass another one."""


def signal(name: str, doc: str | None = None) -> HookSignal:
    """Return the signal with this name on `default_bus`. The first call creates it, with `doc` as
    its docstring.

    Raises:
        HookError: if the name is not an identifier.
    """
    return default_bus.signal(name, doc)
