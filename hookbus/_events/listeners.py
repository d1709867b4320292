"""The listeners of `bus.events`. Each listener gets the kinds of events that it selects, in order,
after redaction. An exception in a listener never affects the call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .._callables.parameters import not_awaited
from .._connections.order import in_order
from .._connections.receiver import Connected
from .._connections.signal import HookSignal
from .._ground.errors import first_error
from .._ground.locks import serialize_writers
from .._ground.signatures import signature_of
from ..exceptions import HookError

if TYPE_CHECKING:
    from ..events import Event

    Emit = Callable[[dict[str, Any]], bool]


class _Busy(threading.local):
    """The listeners that each thread is currently calling."""

    def __init__(self) -> None:
        self.listeners: set[int] = set()


class EventSignal(HookSignal):
    """The type of `bus.events`. Its sender is the bus. Its receivers are plain functions, which are
    called as `receiver(bus, event)` and never affect a call.

    Attributes:
        by_kind: for each kind of event, a function that creates and delivers the event, or None
            without listeners. It takes the fields of the event, and returns whether any listener
            received the event. The mapping stays empty until the first event.
        redactors: the settings of each call of `bus.redact`.
    """

    def __init__(self, bus: Any) -> None:
        super().__init__("events", bus)
        self.by_kind: dict[type[Event], Emit | None] = {}
        self._busy = _Busy()
        self.redactors: list[Any] = []

    def _check_kinds(self, kinds: tuple[type, ...]) -> None:
        from ..events import KINDS

        wrong = [kind for kind in kinds if not any(kind is each for each in KINDS)]
        if wrong or not kinds:
            known = ", ".join(kind.__name__ for kind in KINDS)
            shown = f"{wrong[0]!r:.60}" if wrong else "()"
            raise HookError(
                f"kinds={shown} is not a kind of event; write classes of hookbus.events: {known}"
            )

    def check(self, connected: Connected) -> None:
        """Raise HookError for an invalid listener, and determine how the listener takes an event.

        Raises:
            HookError: with a message that names the receiver and says what to write instead.
        """
        function: Any = connected.function  # the caller keeps it alive
        options, signature = connected.options, signature_of(function)
        if options.kinds is not None:
            self._check_kinds(options.kinds)
        if connected.is_async:
            raise HookError(
                f"{connected.label} is async, but a listener of events must be a plain function: "
                "write a plain def"
            )
        if options.role or options.on_error or options.timeout or options.when or options.once:
            raise HookError(
                "a listener of events takes only kinds=, priority=, name=, before=, after= and "
                "weak="
            )
        for is_by_name, args, named in ((False, (0, 0), {}), (True, (0,), {"event": 0})):
            try:
                signature.bind(*args, **named)
            except TypeError:
                continue
            connected.is_by_name = is_by_name
            if (note_bus := getattr(type(function), "_note_bus", None)) is not None:
                note_bus(function, self._bus)  # for example an exporter
            return
        raise HookError(
            f"{connected.label} cannot be called with a bus and an event; write "
            "def listener(bus, event)"
        )

    @serialize_writers
    def forget(self) -> None:
        """Discard the cached listeners of each kind."""
        self.by_kind = {}

    def find_listeners(self) -> dict[type[Event], Emit | None]:
        """Return `by_kind`. If the mapping is empty, find the listeners first."""
        by_kind = self.by_kind
        if not by_kind:
            from ..events import KINDS, Invoked

            all_but_invoked = tuple(kind for kind in KINDS if kind is not Invoked)
            ordered = in_order((0.0, each) for each in self.connections() if each.is_enabled)
            hear = [(each, each.options.kinds or all_but_invoked) for each in ordered]
            found = {kind: [each for each, kinds in hear if kind in kinds] for kind in KINDS}
            made = {kind: self._emitter(kind, each) for kind, each in found.items()}
            return self._publish(by_kind, made)
        return by_kind

    @serialize_writers
    def _publish(
        self, old: dict[type[Event], Emit | None], found: dict[type[Event], Emit | None]
    ) -> dict[type[Event], Emit | None]:
        """Publish the listeners to all threads, unless another thread has changed the listeners in
        the meantime.
        """
        if self.by_kind is old: self.by_kind = found  # noqa: E701
        return found

    def _emitter(self, kind: type[Event], listeners: list[Connected]) -> Emit | None:
        """Return the function that `by_kind` stores for these listeners."""
        if not listeners:
            return None
        first, emit = listeners[0], partial(self._deliver, kind, listeners)
        is_usual = len(listeners) == 1 and not (first.is_weak or first.is_by_name)
        return self._emitter_to_one(kind, first, emit) if is_usual else emit

    def _emitter_to_one(
        self, kind: type[Event], connected: Connected, emit_in_loop: Emit
    ) -> Emit:
        """Return a function for a single listener that does the same as `_deliver`, but faster."""
        from ..events import new_event, set_fields

        listener: Any = connected.held
        mark, bus, here = id(connected), self._bus, self._busy
        redactors, muted_by = self.redactors, self._muted_by

        def emit(fields: dict[str, Any]) -> bool:
            if redactors or muted_by:
                return emit_in_loop(fields)
            busy = here.listeners
            if mark in busy:
                return False
            event = new_event(kind)
            set_fields(event, fields)
            try:
                try:
                    busy.add(mark)
                    answer = listener(bus, event)
                    if answer is not None:
                        _reject_awaitable(connected, answer)
                except Exception as error:
                    _note_failure(connected, error)
                    return False
                finally:
                    busy.discard(mark)
            except BaseException:
                busy.discard(mark)  # the interrupt may have arrived before it was removed
                raise
            return True

        return emit

    @property
    def listened_kinds(self) -> frozenset[type[Event]]:
        """The kinds of events that have a listener."""
        found = self.find_listeners()
        return frozenset(filter(found.get, found))

    def redacted(self, event: Event) -> Event | None:
        """Return the event after redaction, or None if the redaction failed."""
        made: Event | None = self._bus._redaction.redacted(event) if self.redactors else event
        return made

    def emit_about(
        self, kind: Any, connected: Connected, sender: str = "unknown", **facts: Any
    ) -> None:
        """Emit an event about a connection, outside of any call."""
        from ..events import copy_baggage, default_fields

        if self.find_listeners()[kind] is not None:
            common = {"call_id": 0, "hook": connected.signal.hook, "sender": sender}
            now = {"at": time.time(), "baggage": copy_baggage()}
            own = {"receiver": connected.name, **facts}
            self.emit(kind, {**default_fields(kind), **common, **now, **own})

    def emit(self, kind: type[Event], fields: dict[str, Any]) -> bool:
        """Emit an event with all fields of its kind. Return whether any listener received the
        event.
        """
        emit = self.find_listeners()[kind]
        return emit is not None and emit(fields)

    def _deliver(
        self, kind: type[Event], listeners: list[Connected], fields: dict[str, Any]
    ) -> bool:
        """Deliver an event to listeners. The first exception of each listener is logged. A listener
        does not receive the events that it causes itself. Return whether any listener received the
        event.
        """
        from ..events import make_event

        bus, emitted = self._bus, make_event(kind, fields)
        busy = self._busy.listeners
        fatal: BaseException | None = None
        is_taken = False
        if (event := self.redacted(emitted) if self.redactors else emitted) is None:
            return False
        mark = 0
        try:
            for connected in listeners:
                function: Any = connected.function if connected.is_weak else connected.held
                if id(connected) in busy or (self._muted_by and self.is_muted) or function is None:
                    continue
                mark = id(connected)
                try:
                    busy.add(mark)
                    is_by_name = connected.is_by_name
                    answer = function(bus, event=event) if is_by_name else function(bus, event)
                    if answer is not None:
                        _reject_awaitable(connected, answer)
                    is_taken = True
                except Exception as error:
                    _note_failure(connected, error)
                except BaseException as error:
                    fatal = first_error(fatal, error)
                finally:
                    busy.discard(mark)
        finally:
            busy.discard(mark)  # an interrupt may have arrived before it was removed
        if fatal is not None:
            raise fatal
        return is_taken


def _reject_awaitable(connected: Connected, answer: Any) -> None:
    plain = "but a listener of events must be a plain function"
    not_awaited(answer, f"{connected.label} is async, {plain}")


def _note_failure(connected: Connected, error: Exception) -> None:
    """Count a failure of a listener, and log its first failure."""
    connected.count_failure(error, is_open=True)
    connected.log_failure("", is_open=False)
