"""Names to signals, the stream of events, and what is declared, pending or lost."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from ._connections.listeners import EventSignal
from ._connections.options import check_timeout, options_of
from ._connections.phases import ANSWER, PHASES
from ._connections.receiver import Receiver
from ._connections.registry import is_shared
from ._connections.senders import describe
from ._connections.signal import Connection, F, HookSignal
from ._hooks.holders import check_sender, check_serves, class_of
from ._hooks.hook import Hook
from ._hooks.identity import IdentityMap
from ._hooks.overrides import uncovered_overrides
from .exceptions import HookError, HookWarning, did_you_mean

_MARK: Final = "__hookbus_receives__"


class Bus:
    """Hooks and signals that belong together. There is `default_bus`; a bus of one's own keeps tests or tenants apart.

    Args:
        timeout: seconds a receiver without a `timeout=` of its own may take; None is no deadline.
        values: put arguments and results into events; by default they say only names.

    Attributes:
        events: the signal that tells what happens: `bus.events.connect(listener)`, `def listener(bus, event)`.
        plugins: what `load_plugins` made for this bus, or None.
    """

    timeout: float | None
    values: bool

    def __init__(self, timeout: float | None = None, values: bool = False) -> None:
        check_timeout(timeout)
        self.timeout, self.values = timeout, values
        self.lock: threading.Lock = threading.Lock()
        self._signals: dict[str, HookSignal] = {}
        self._by_hook: dict[str, tuple[HookSignal, ...]] = {}
        self._hooks: dict[str, list[weakref.ref[Hook]]] = {}
        self._families: dict[tuple[str, str | None], object] = {}
        self._looked_at: IdentityMap[bool] = IdentityMap()
        self.events: EventSignal = EventSignal(self)
        self.is_observed: bool = False
        self.plugins: Any = None

    def __reduce__(self) -> str:
        if self is not default_bus:
            raise HookError("only default_bus can be pickled, by name; make other buses where they are used")
        return "default_bus"

    def __copy__(self) -> Bus:
        return self

    def __deepcopy__(self, memo: object) -> Bus:
        return self

    def signal(self, name: str, doc: str | None = None) -> HookSignal:
        """Return the signal of this name, made when first asked for: `pre_reply`, `post_reply`, or any name of yours.

        `doc` becomes its docstring.

        Raises:
            HookError: if the name is not an identifier.
        """
        if not isinstance(name, str) or not name.isidentifier():
            raise HookError(f"a signal's name must be an identifier, such as 'pre_reply', not {name!r}")
        with self.lock:
            found = self._signals.get(name)
            if found is None:
                found = self._signals[name] = HookSignal(name, self, doc)
                if found.phase is not None:
                    same = (*self._by_hook.get(found.hook, ()), found)
                    self._by_hook[found.hook] = tuple(sorted(same, key=lambda each: PHASES.index(each.phase or "")))
            return found

    @property
    def heard(self):
        from . import events as e
        return frozenset((e.Started, e.Mutated, e.Blocked, e.Failed, e.Finished, e.Attempted)) if self.is_observed else frozenset()

    def require(self, hook: str, role: str = "guard") -> None:
        """Check at start-up that a hook is really watched over.

        Args:
            hook: its name.
            role: `"guard"`, `"modify"` or `"observe"`.

        Raises:
            HookError: unless the hook is declared and an enabled receiver of this role is connected to one of its phases.
        """
        if role not in ("modify", "guard", "observe"):
            raise HookError(f"role={role!r} is unknown{did_you_mean(str(role), ('modify', 'guard', 'observe'))}")
        if not self._declared(hook):
            raise HookError(f"nothing declares the hook {hook!r}{did_you_mean(hook, self.hook_names())}")
        receivers = [r for signal in self._signals_of(hook) for r in signal.connections()]
        if not any(r.role == role and r.is_enabled and not r.is_spent for r in receivers):
            raise HookError(f"the hook {hook!r} has no {role}: connect one to pre_{hook} before the start")

    def plug(self, plugin: object) -> Callable[[], None]:
        """Connect every method of the plugin, an object, that `receives` marks: all or none. Return what disconnects them.

        Raises:
            HookError: if nothing is marked, or one of them cannot be connected; then none is.
        """
        connected: list[Connection] = []

        def unplug() -> None:
            while connected:
                connected.pop().disconnect()

        try:
            for attribute, name, options in marked(plugin):
                connected.append(self.signal(name).connected_to(getattr(plugin, attribute), **options))
        except BaseException:
            unplug()
            raise
        return unplug

    def hook_names(self) -> list[str]:
        """Return the names of the hooks declared on this bus."""
        return sorted(name for name in list(self._hooks) if self._declared(name))

    def signals(self) -> list[HookSignal]:
        """Return every signal that was ever asked for, by name."""
        return [signal for _, signal in sorted(self._signals.items())]

    # -- what hookables and signals tell the bus ----------------------------------------------------------------------

    def _declared(self, name: str) -> list[Hook]:
        return [hook for ref in self._hooks.get(name, ()) if (hook := ref()) is not None]

    def _signals_of(self, hook: str) -> list[HookSignal]:
        """Return the signals of a hook that were ever asked for, in the order of the phases."""
        return list(self._by_hook.get(hook, ()))

    def _declare(self, hook: Hook) -> None:
        for other in self._declared(hook.name):
            if other.is_question != hook.is_question or (hook.is_question and not _is_same_place(hook, other)):
                raise HookError(f"the name {hook.name!r} is taken on this bus by {other!r}: a question has its name for itself")
        with self.lock:
            kept = [ref for ref in self._hooks.get(hook.name, []) if ref() is not None]
            self._hooks[hook.name] = [*kept, weakref.ref(hook)]
        self._forget(hook.name)

    def _retire(self, hook: Hook) -> None:
        with self.lock:
            self._hooks[hook.name] = [ref for ref in self._hooks.get(hook.name, []) if ref() not in (None, hook)]
        hook.of_one.clear()
        hook.route(False)
        self._forget(hook.name)

    def _forget(self, name: str) -> None:
        """Look everything up again for the hooks of this name: a class or the set of hookables has changed."""
        owners = [sender for signal in self._signals_of(name) for sender in signal.own_senders()]
        with self.lock:
            hooks = self._declared(name)
            for hook in hooks:
                hook.forget()
                for sender in owners:
                    hook.has_own(sender, True)
            self._route(name, hooks)

    def _family(self, hook: str, attribute: str | None) -> object:
        """Return the mark of all hookables of one name under one attribute, which `super()` leads from one to the next."""
        return self._families.setdefault((hook, attribute), (hook, attribute))

    def _look_at(self, cls: type) -> None:
        self._looked_at.set(cls, True)

    def uncovered(self) -> list[str]:
        """Name the overrides of hookable methods that are not hooked, of classes that were a sender or were called."""
        return uncovered_overrides(self, self._looked_at.owners())

    def class_of(self, hook: Hook) -> type | None:
        """Return the class whose method a hook is, if one is known: it was a sender, was called, or can be named."""
        return class_of(hook, self._looked_at.owners)

    def _changed(self, signal: HookSignal, sender: Any) -> None:
        """Bring plans and switches up to date after a connection of this signal came, went or changed.

        `sender` is whom it was connected to; None where that one is dead and took its plan along.
        """
        if signal is self.events:
            self.is_observed = self.events.refresh()
            for name in list(self._hooks):
                self._forget(name)
            return
        with self.lock:
            hooks = self._declared(signal.hook)
            if is_shared(sender):
                for hook in hooks:
                    hook.drop_plans()
            elif sender is not None:
                is_own = any(each.has_own(sender) for each in self._signals_of(signal.hook))
                for hook in hooks:
                    hook.has_own(sender, is_own)
                    hook.drop_plans(sender)
            self._route(signal.hook, hooks)

    def _muting(self, signal: HookSignal) -> None:
        """Have every call look again whether it may be heard: muting of this signal began, or ended everywhere."""
        with self.lock:
            for hook in self._declared(signal.hook):
                hook.look_again()

    def _route(self, name: str, hooks: list[Hook]) -> None:
        """Switch the hooks of this name; the lock is held."""
        is_on = self.is_observed or any(signal.has_shared for signal in self._by_hook.get(name, ()))
        for hook in hooks:
            hook.route(is_on)

    def _lost(self, signal: HookSignal, receiver: Receiver) -> None:
        if self.is_observed:
            from .events import Lost

            event = Lost(
                call_id=0, parent_id=None, hook=signal.hook, sender="unknown", at=time.time(), receiver=receiver.name
            )
            self.events.tell(self, event)

    def _check_sender(self, signal: HookSignal, sender: Any) -> None:
        if signal is self.events and sender is not ANY and sender is not self:
            raise HookError("the sender of events is the bus itself: leave sender= out, and decorate with @events.connect_via()")
        if isinstance(sender, FunctionType):
            check_sender(self._declared(signal.hook), sender, self._looked_at.owners)

    def _check(self, signal: HookSignal, receiver: Receiver, sender: Any) -> None:
        """Refuse a connection that can be known not to work; warn of a guard that can be walked around."""
        self._check_sender(signal, sender)
        if signal is self.events:
            self.events.check(receiver)
            return
        if signal.phase == ANSWER and sender is not ANY:
            raise HookError(f"{receiver.label} names a sender, but {signal.name} is a question and has none: leave sender= out")
        check_serves(receiver, self._declared(signal.hook), sender)
        if receiver.role == "guard" and sender is not ANY:
            cls = sender if isinstance(sender, type) else type(sender)
            self._look_at(cls)
            for override in uncovered_overrides(self, [cls], signal.hook):
                warnings.warn(f"{receiver.label} does not guard {override}", HookWarning, stacklevel=4)


def receives(name: str, **options: Any) -> Callable[[F], F]:
    """Mark a method of a plugin object as a receiver of the signal `name`; `bus.plug(obj)` connects it, or what overrides it.

    Args:
        name: the signal, such as `"pre_reply"`, or a question.
        options: `sender` and the options of `connect`; whether they fit the signal shows when the object is plugged.

    Returns:
        A decorator that gives back the method. A method may be marked several times.

    Raises:
        HookError: for an option that makes no sense anywhere.
    """
    options_of(**{option: value for option, value in options.items() if option not in ("sender", "weak")})

    def mark(method: F) -> F:
        function = getattr(method, "__func__", method)  # of a classmethod or staticmethod
        setattr(function, _MARK, (*getattr(function, _MARK, ()), (name, options)))
        return method

    return mark


def marked(plugin: object) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what `receives` marks of a plugin: attribute, signal and options. An override has the marks of what it overrides.

    Raises:
        HookError: if nothing is marked.
    """
    found: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {}
    for base in reversed(type(plugin).__mro__):
        for attribute, raw in vars(base).items():
            found[attribute] = getattr(getattr(raw, "__func__", raw), _MARK, found.get(attribute, ()))
    flat = [(attribute, name, options) for attribute, marks in found.items() for name, options in marks]
    if not flat:
        instead = ": plug an object of it" if isinstance(plugin, type) else " has no method marked with @receives('pre_...')"
        raise HookError(f"{describe(plugin)}{instead}")
    return flat


def _is_same_place(hook: Hook, other: Hook) -> bool:
    """Tell whether two hooks are one, declared again as a module is reloaded."""
    return (hook.body.__module__, hook.body.__qualname__) == (other.body.__module__, other.body.__qualname__)


default_bus: Final = Bus()
"""The bus of `hookable`, `instrument` and `signal` where none is named."""


def signal(name: str, doc: str | None = None) -> HookSignal:
    """Return the signal of this name on `default_bus`, made when first asked for; `doc` becomes its docstring.

    Raises:
        HookError: if the name is not an identifier.
    """
    return default_bus.signal(name, doc)
