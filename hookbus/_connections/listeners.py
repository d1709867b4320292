"""The listeners of `bus.events`: told of every event, in order, and never able to hurt a call."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any

from ..exceptions import HookError
from .order import in_order
from .receiver import Receiver
from .signal import HookSignal
from .wanted import close_unawaited

if TYPE_CHECKING:
    from ..events import Event


class EventSignal(HookSignal):
    """`bus.events`: its sender is the bus, its receivers are sync, isolated and held strongly, and get `event=`."""

    def __init__(self, bus: Any) -> None:
        super().__init__("events", bus)
        self._listeners: tuple[Receiver, ...] = ()
        self._busy = threading.local()

    def check(self, receiver: Receiver) -> None:
        """Refuse what cannot listen.

        Raises:
            HookError: naming the receiver and what to write instead.
        """
        options = receiver.options
        if receiver.is_async:
            raise HookError(f"{receiver.label} is async, but events are told to plain functions: write a plain def")
        if options.role or options.on_error or options.timeout or options.when or options.once:
            raise HookError("a listener of events takes priority=, name=, before= and after=, nothing else")
        lacking = receiver.asks.missing(["event"])
        if lacking:
            raise HookError(f"{receiver.label} asks for {lacking[0]!r}; write def listener(bus, event)")

    def refresh(self) -> bool:
        """Settle who listens, and tell whether anyone does."""
        self._listeners = tuple(in_order((0.0, receiver) for receiver in self.connections() if receiver.is_enabled))
        return bool(self._listeners)

    def tell(self, bus: Any, event: Event) -> None:
        """Give an event to every listener; one that raises is logged once, and none is re-entered by its own doing."""
        busy: set[int] = self._busy.__dict__.setdefault("listeners", set())
        fatal: BaseException | None = None
        for receiver in self._listeners:
            if id(receiver) in busy or self.is_muted:
                continue
            busy.add(id(receiver))
            try:
                self._tell_one(receiver, bus, event)
            except BaseException as error:
                fatal = fatal or error
            finally:
                busy.discard(id(receiver))
        if fatal is not None:
            raise fatal

    def _tell_one(self, receiver: Receiver, bus: Any, event: Event) -> None:
        function = receiver.function
        if function is None:
            return
        try:
            answer = function(bus, event=event)
            if inspect.isawaitable(answer):
                close_unawaited(answer)
                raise HookError(f"{receiver.label} is async, but events are told to plain functions")
        except Exception as error:
            if receiver.count_failure(error, is_open=True) == 1:
                import logging

                # Neither the event nor the exception's text is logged: both may hold what must not leave the process.
                logging.getLogger("hookbus").error("%s fails on events: %s; said once", receiver.label, receiver.last_failure)
