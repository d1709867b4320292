"""The class HookSignal: a blinker signal whose receivers have an order, a scope and a handle."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from itertools import count
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from blinker import ANY

from .._callables.callables import key_of
from .._callables.parameters import Connectable
from .._ground.errors import warn
from .connection import Connection as Connection
from .failures import WARNING, log
from .options import PLAIN, ConnectOptions, Unguarded, check_weak, odd_timeout, options_of
from .phases import PHASES
from .receiver import Connected
from .registry import Registry
from .senders import is_shared
from .sending import Sending

if TYPE_CHECKING:
    from .protocols import Board
    from .verdicts import Ask, Block

    Guard = Callable[..., Block | Ask | Awaitable[Block | Ask | None] | None]

MOST_ORPHANS: Final = 50
ORPHANED: Final = (
    "guards an object that was freed before any call: keep the object, or connect to its class"
)

F = TypeVar("F", bound=Callable[..., Any])
G = TypeVar("G", bound="Guard")


class HookSignal(Sending):
    """A named signal with ordered, scoped receivers. `bus.signal(name)` and `hookbus.signal(name)`
    create it.

    It has the methods of a blinker signal: `connect`, `connect_via`, `connected_to`, `muted`,
    `send` and `receivers_for`. In contrast to blinker, it references receivers strongly and calls
    them in a defined order, and a class as sender includes its instances.
    """

    def __init__(self, name: str, bus: Any, doc: str | None = None) -> None:
        # blinker's `__init__` is not called, because it creates a registry of its own.
        self._bus, self._muted_by, self.name = bus, {}, name
        if doc:
            self.__doc__ = doc
        phase, _, hook = name.partition("_")
        self.phase: str | None = phase if phase in PHASES and hook else None
        self.hook: str = hook if self.phase else name
        self._board: Board = bus._switchboard
        registry = self._registry = Registry(self._drop_dead)
        self._matching, self.connections = registry.matching, registry.connections
        self._has_own, self._own_senders = registry.has_own, registry.own_senders
        self._was_asked: bool = False  # by `send` or `receivers_for`
        # The number of weakly referenced receivers freed before any call, and the label of the last
        # one.
        self._lost_uncalled: tuple[int, str] = (0, "")
        self._orphans: dict[str, int] = {}  # guards of objects that were freed before any call
        self._next = count().__next__

    # blinker has its own dict here.
    @property
    def receivers(  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        self,
    ) -> dict[Any, Any]:
        """The active connections. The mapping is not empty if any receiver is connected."""
        return {id(each): each for each in self.connections()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self._bus).signal, (self._bus, self.name)

    # -- connecting --------------------------------------------------------------------------------

    @overload
    def connect(
        self, receiver: F, sender: Any = ANY, weak: bool | None = None, *,
        role: Unguarded = None, **options: Unpack[ConnectOptions],
    ) -> F: ...  # fmt: skip
    @overload
    def connect(
        self, receiver: G, sender: Any = ANY, weak: bool | None = None, *,
        role: Literal["guard"], **options: Unpack[ConnectOptions],
    ) -> G: ...  # fmt: skip
    def connect(
        self, receiver: F, sender: Any = ANY, weak: bool | None = None, **options: Any
    ) -> F:
        """Connect a receiver to a sender, and return the receiver.

        A second connection of the same receiver and sender replaces the options and keeps the
        position in the order. The same applies if a reload or a notebook cell defines the function
        again. If a module-level class is defined again, the new class takes over its connections.

        Args:
            receiver: a callable, called as `receiver(sender, ...)`. Its other parameters select the
                arguments that it gets.
            sender: an instance, a class (including its instances and subclasses), a function, or
                `ANY`.
            weak: None keeps a strong reference, except for a bound method of the sender, which is
                freed together with the sender. True keeps a weak reference, and `Lost` is emitted
                when the receiver is freed. Receivers that fail closed do not allow True.
            priority: receivers with a higher priority run first.
            role: `"modify"` (the default), `"guard"` or `"observe"`. `finally` allows only
                `"observe"`.
            on_error: the failure policy: `"isolate"`, `"block"` or `"raise"`. None means the
                default of the role.
            timeout: the time limit in seconds. None means the default of the bus. A sync receiver
                with a timeout runs in a daemon thread.
            when: a condition for the call of the receiver: a predicate whose parameters name
                arguments, or a mapping from argument names to globs.
            once: whether to call the receiver only once. Guards do not allow this.
            name: the name of the receiver in events, errors, `before=` and `after=`. None means its
                `__qualname__`.
            before: the names of receivers of the same role that must run later.
            after: the names of receivers of the same role that must run earlier.
            kinds: for `bus.events` only: one or more classes of events to listen for. None means
                all classes except `Invoked`, which you must list.
            shadow: for guards only: whether the guard runs in shadow mode. If such a guard blocks
                or fails, the event has `enforced=False` and the call continues.
            background: for observers only: whether the call continues without waiting for the
                observer. `bus.drain(seconds)` waits for it. Such an observer has no deadline except
                its own `timeout=`.
            locked: for guards only: whether to prevent operators from switching the guard off with
                `bus.switch` or `hookbus attach`.

        Raises:
            HookError: if the receiver, the sender or an option is invalid. In that case, nothing
                has changed.
        """
        self._connect(receiver, sender, weak, options)
        if "receiver_connected" in self.__dict__ and self.receiver_connected.receivers:
            self.receiver_connected.send(self, receiver=receiver, sender=sender, weak=bool(weak))
        return receiver

    @overload
    def connect_via(
        self, sender: Any = ANY, weak: bool | None = None, *,
        role: Unguarded = None, **options: Unpack[ConnectOptions],
    ) -> Callable[[F], F]: ...  # fmt: skip
    @overload
    def connect_via(
        self, sender: Any = ANY, weak: bool | None = None, *,
        role: Literal["guard"], **options: Unpack[ConnectOptions],
    ) -> Callable[[G], G]: ...  # fmt: skip
    def connect_via(
        self, sender: Any = ANY, weak: bool | None = None, **options: Any
    ) -> Callable[[F], F]:
        """Return a decorator that connects the decorated function. `sender`, `weak` and `options`
        are the same as in `connect`.
        """
        if weak is not None:
            check_weak(weak)
        if sender is not ANY:
            self._bus._checks.check_sender(self, sender)

        def decorate(receiver: F) -> F:
            return self.connect(receiver, sender, weak, **options)

        return decorate

    @overload  # type: ignore[override]
    def connected_to(
        self, receiver: Callable[..., Any], sender: Any = ANY, weak: bool | None = None, *,
        role: Unguarded = None, **options: Unpack[ConnectOptions],
    ) -> Connection: ...  # fmt: skip
    @overload
    def connected_to(
        self, receiver: Guard, sender: Any = ANY, weak: bool | None = None, *,
        role: Literal["guard"], **options: Unpack[ConnectOptions],
    ) -> Connection: ...  # fmt: skip
    def connected_to(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, receiver: Connectable, sender: Any = ANY, weak: bool | None = None, **options: Any
    ) -> Connection:
        """Connect immediately, and return the handle of the connection. You can use the handle in a
        `with` statement.

        At the end of the block, only this connection is removed. It is separate from other
        connections of the same receiver and sender. If their options are equal, the receiver runs
        once; otherwise, it runs once for each connection. `sender`, `weak`, `options` and errors
        are the same as in `connect`.
        """
        return Connection(self._connect(receiver, sender, weak, options, has_handle=True))

    def _connect(
        self, function: Connectable, sender: Any, weak: bool | None, given: dict[str, Any], *,
        has_handle: bool = False,
    ) -> Connected:  # fmt: skip
        if weak is not None:
            check_weak(weak)
        bus, registry, board = self._bus, self._registry, self._board
        options = options_of(**given) if given else PLAIN
        scope, is_of_many = registry.of_any, True
        if sender is not ANY:
            bus._checks.check_sender(self, sender)
            is_of_many = is_shared(sender)
            scope = registry.scope_of(sender, is_of_many)
        new = Connected(self, function, scope.sender, options, self._next())
        is_guard, is_of_events = new.role == "guard", self is bus.events
        if is_guard:
            bus._checks.warn_of_lost_verdict(new)
        if given and (odd := odd_timeout(options.timeout)):
            warn(f"{new.label} on {self.name}: {odd}")
        if board.apply_switches is not None and not is_of_events:
            board.apply_switches(new)
        if weak or (weak is None and sender is not ANY and isinstance(function, MethodType)):
            new.hold(weak, partial(registry.drop_dead, scope))
        if has_handle:
            new.entry = (*new.key, "handle", new.sequence)
            scope.has_handles = True
        # An equal connection to `ANY` needs no second check. To a class, this applies except to a
        # guard, because overrides may have come.
        key, checked = (id(scope), new.parameters, new.is_async, is_guard), registry.checked
        is_odd = given and (options.background or options.on_error or options.when is not None)
        if is_odd or key not in checked:
            if is_of_events:
                bus.events.check(new)
            else:
                bus._checks.check(new, sender)
            is_said_once = sender is ANY or (is_of_many and not is_guard)
            if is_said_once and self.phase is not None and not is_odd:
                checked.add(key)
        if not is_of_many:
            board.changing(self, sender)
        if not is_of_events:
            board.note_name(new.name)
        registry.add(scope, new, function)
        board.changed(self, sender, is_more=True)
        return new

    def disconnect(self, receiver: Connectable, sender: Any = ANY) -> None:
        """Disconnect a receiver from one sender, or from all senders if no sender is given. If the
        receiver is not connected, nothing happens.
        """
        self._board.changing(self, sender)
        for owner in self._registry.remove(key_of(receiver), sender):
            self._board.changed(self, owner)
        if is_shared(sender):
            self._board.changed(self, sender)
        if "receiver_disconnected" in self.__dict__ and self.receiver_disconnected.receivers:
            self.receiver_disconnected.send(self, receiver=receiver, sender=sender)

    def _drop(self, connected: Connected) -> None:
        """Remove one connection of any sender.

        Args:
            connected: a connection of this signal. If the connection was removed before, nothing
                happens.
        """
        sender = connected.owner
        self._board.changing(self, sender)
        if self._registry.drop(connected):
            self._board.changed(self, sender)

    def _clear_state(self) -> None:
        """Disconnect all receivers. Like blinker's method with this name, it is meant for tests."""
        for connected in self.connections():
            self._drop(connected)

    def _drop_dead(self, lost: list[Connected], orphans: list[Connected]) -> None:
        """Report freed objects: weakly referenced receivers, or a sender whose guards were not part
        of any call.
        """
        self._board.changed(self, None)
        from ..events import Lost

        for guard in orphans if self.phase else ():
            is_new, label = guard.label not in self._orphans, guard.label
            if not is_new or len(self._orphans) < MOST_ORPHANS:
                self._orphans[label] = self._orphans.get(label, 0) + 1
                if is_new:
                    log(WARNING, f"{label} on {self.name} {ORPHANED} (logged once)")
        for connected in lost:
            if not connected.has_fired:
                self._lost_uncalled = (self._lost_uncalled[0] + 1, connected.label)
            self._bus.events.emit_about(Lost, connected)

    # -- which receivers run -----------------------------------------------------------------------

    @property
    def _count(self) -> int:
        """The number of connected receivers. A receiver is counted once for each of its senders."""
        return sum(map(len, self._registry.scopes()))

    @property
    def _has_shared(self) -> bool:
        """Whether a receiver is connected to a class, a function or `ANY`."""
        return self._registry.has_shared()

    def receivers_for(self, sender: Any) -> Generator[Connectable, None, None]:
        """Yield the receivers that run for this sender, in order. Receivers of a class also run for
        its instances.
        """
        self._was_asked = True
        for _, function in self._in_order(sender):
            yield function

    def has_receivers_for(self, sender: Any) -> bool:
        """Return whether any connected receiver would run for this sender."""
        return bool(self._matching(sender))
