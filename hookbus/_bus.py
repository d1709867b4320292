"""Names to signals, the stream of events, and what is declared, pending or lost."""

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
from .exceptions import HookError, warn

if TYPE_CHECKING:
    from .events import Event


@named_options
class Bus(Answered, Drained, Operated, Redacts):
    """Hooks and signals that belong together. There is `default_bus`; a bus of one's own keeps
    tests or tenants apart.

    Args:
        timeout: seconds a receiver without a `timeout=` of its own may take; None is no deadline.
        values: put arguments and results into events; by default they say only names.
        max_background: how many observers with `background=True` may be under way at once.

    Attributes:
        events: the signal that tells what happens: `bus.events.connect(listener)`, `def
            listener(bus, event)`.
        plugins: what `load_plugins` made for this bus, or None.
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
                "only default_bus can be pickled, by name; make other buses where they are used"
            )
        return "default_bus"

    def __copy__(self) -> Bus:
        return self

    def __deepcopy__(self, memo: object) -> Bus:
        return self

    def signal(self, name: str, doc: str | None = None) -> HookSignal:
        """Return the signal of this name, made when first asked for: `pre_reply`, `post_reply`, or
        any name of yours.

        `doc` becomes its docstring.

        Raises:
            HookError: if the name is not an identifier.
        """
        if not isinstance(name, str) or not name.isidentifier():
            said = f"a signal's name must be an identifier, such as 'pre_reply', not {name!r}"
            raise HookError(said + "; every hook is heard on bus.events" * ("*" in str(name)))
        found = self._signals.get(name)
        if found is None:
            made = HookSignal(name, self, doc)
            if made.phase is not None:
                # First here: who finds it by its name may connect at once.
                made = self._by_hook.setdefault(made.hook, {}).setdefault(made.phase, made)
            found = self._signals.setdefault(name, made)
        return found

    @property
    def _heard(self) -> frozenset[type[Event]]:
        """The kinds of events that anybody hears right now."""
        return self.events.heard

    @property
    def _is_observed(self) -> bool:
        """Whether anybody hears of calls."""
        return any(kind.__name__ not in ("Lost", "Switched") for kind in self._heard)

    @named_options
    def require_guard(
        self, hook: str, *, sender: Any = None, phase: Literal["pre", "item", "post"] = "pre"
    ) -> None:
        """Check at start-up that a guard watches over every call of a hook.

        It counts where it is connected to the class that declares the hook, to one above it or to
        `ANY`, enabled, enforced and without `when=`.

        Args:
            hook: its name.
            sender: a class, an object, which is judged with its own guards, or a function; None is
                every class that declares the hook, and every function.
            phase: `"pre"`, `"item"` or `"post"`.

        Raises:
            HookError: naming what is bare, and why each guard that there is does not count; where
                nothing declares the hook, or overrides of it are not hooked; and of `tool_call`
                without a sender where an agent framework is imported whose adapter is not
                installed.
        """
        check_required(self, hook, phase, sender, default_bus)

    def register(self, plugin: object) -> Callable[[], None]:
        """Connect every method of the plugin, an object, that `receives` marks: all or none. Return
        what disconnects them.

        A mark with a glob, such as `pre_send_*`, is for every hook that matches, also one that is
        declared later.

        Raises:
            HookError: if nothing is marked, or one of them cannot be connected; then none is.
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
        """Return every signal that was ever asked for, by name."""
        return [signal for _, signal in sorted(self._signals.items())]

    # -- what hookables and signals tell the bus ---------------------------------------------------

    def _declared(self, name: str) -> list[Hook]:
        hooks = self._hooks.get(name)
        if not hooks:
            return []
        return [*filter(None, map(call, list(hooks.values())))]

    def _signals_of(self, hook: str) -> list[HookSignal]:
        """Return the signals of a hook that were ever asked for, in the order of the phases."""
        by_phase = self._by_hook.get(hook)
        return [by_phase[phase] for phase in PHASES if phase in by_phase] if by_phase else []

    def _declare(self, hook: Hook) -> None:
        for other in self._declared(hook.name):
            bodies = hook.body, other.body
            # A question that is declared again as its module is reloaded is the same one.
            is_again = len({(body.__module__, body.__qualname__) for body in bodies}) == 1
            if other.is_question != hook.is_question or (hook.is_question and not is_again):
                raise HookError(
                    f"the name {hook.name!r} is taken on this bus by {other!r}: a question has its "
                    "name for itself, give one of them another name="
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
        """Look everything up again for the hooks of this name: a class or the set of hookables has
        changed.
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
        """Remember a class. Return the hooks whose overrides in it have been looked for."""
        if (found := self._looked_at.get(cls)) is None:
            self._looked_at.set(cls, found := set())
        return found

    def _uncovered(self) -> list[str]:
        """Name the overrides of hookable methods that are not hooked, of classes that were a sender
        or were called, and say what is seen of them.
        """
        declared = [hook for name in list(self._hooks) for hook in self._declared(name)]
        classes = [*self._looked_at.owners(), *(cls for _, cls in static_holders(declared))]
        return uncovered_overrides(self, with_subclasses(classes))

    def _class_of(self, hook: Hook) -> type | None:
        """Return the class whose method a hook is, if one is known: it was a sender, was called, or
        can be named.
        """
        return class_of(hook, self._looked_at.owners)

    def _changing(self, signal: HookSignal, sender: Any) -> None:
        """Be told that a connection of this signal is about to come or go."""
        if not is_shared(sender):
            for hook in self._declared(signal.hook):
                hook._own_changed = object()  # plans under way are not kept

    def _changed(self, signal: HookSignal, sender: Any, *, is_more: bool = False) -> None:
        """Bring plans and switches up to date after a connection of this signal came, went or
        changed.

        `sender` is whom it was connected to; None where that one is dead and took its plan along.
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
        """Have every call look again whether it may be heard: muting began or ended."""
        for hook in self._declared(signal.hook):
            hook.forget()

    def _check_sender(self, signal: HookSignal, sender: Any) -> None:
        if signal is self.events and sender is not ANY and sender is not self:
            raise HookError(
                "the sender of events is the bus itself: leave sender= out, and decorate with "
                "@events.connect_via()"
            )
        if signal.phase == ANSWER and sender is not ANY:
            name = signal.name
            raise HookError(
                f"{name} is a question, which has no sender: leave sender= out, and to decorate "
                f"write @{name}.connect, or @{name}.connect_via(priority=1)"
            )
        if sender is not ANY and signal.phase is not None:
            check_can_call(sender)
            if isinstance(sender, FunctionType):
                check_sender(self._declared(signal.hook), sender, self._looked_at.owners)

    def _check(self, signal: HookSignal, receiver: Connected, sender: Any) -> None:
        """Refuse what can be known not to work; warn of a guard that can be walked around."""
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
"""The bus of `hookable`, `instrument` and `signal` where none is named."""


def signal(name: str, doc: str | None = None) -> HookSignal:
    """Return the signal of this name on `default_bus`, made when first asked for; `doc` becomes its
    docstring.

    Raises:
        HookError: if the name is not an identifier.
    """
    return default_bus.signal(name, doc)
