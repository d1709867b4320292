"""The listeners of `bus.events`: told of what they name, in order, and never able to hurt a call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import HookError
from .options import Options
from .order import in_order
from .receiver import Connected
from .signal import HookSignal
from .wanted import close_unawaited

if TYPE_CHECKING:
    from ..events import Event


class Listener(NamedTuple):
    connected: Connected
    is_by_name: bool

    def tell(self, bus: Any, event: Event) -> None:
        function: Callable[..., Any] | None = self.connected.function
        if function is None:
            return
        answer = function(bus, event=event) if self.is_by_name else function(bus, event)
        if inspect.isawaitable(answer):
            close_unawaited(answer)
            raise HookError(f"{self.connected.label} is async, but events are told to plain functions")


class EventSignal(HookSignal):
    """`bus.events`: its sender is the bus, its receivers are sync, isolated, and called as `r(bus, event)`."""

    def __init__(self, bus: Any) -> None:
        super().__init__("events", bus)
        self._told: dict[type[Event], tuple[Listener, ...]] = {}
        self._heard: tuple[object, frozenset[type[Event]]] = self._told, frozenset()
        self._busy = threading.local()

    def _check_kinds(self, options: Options) -> None:
        from ..events import KINDS

        kinds = options.kinds
        wrong = [kind for kind in kinds if not any(kind is each for each in KINDS)]
        if wrong or not kinds:
            known = ", ".join(kind.__name__ for kind in KINDS)
            said = f"{wrong[0]!r:.60}" if wrong else "()"
            raise HookError(f"kinds={said} names no kind of event; write classes of hookbus.events: {known}")

    def check(self, connected: Connected) -> None:
        """Refuse what cannot listen.

        Raises:
            HookError: naming the receiver and what to write instead.
        """
        options = connected.options
        if connected.is_async:
            raise HookError(
                f"{connected.label} is async, but events are told to plain functions: write a plain def"
            )
        if options.role or options.on_error or options.timeout or options.when or options.once:
            raise HookError("a listener of events takes kinds=, priority=, name=, before= and after=, nothing else")
        _is_by_name(connected)

    def forget(self) -> None:
        """Look up anew who listens."""
        # Who is looking it up already puts what it found into the old table.
        self._told = {}

    @property
    def heard(self) -> frozenset[type[Event]]:
        """The kinds of events that anybody hears."""
        told = self._told
        if self._heard[0] is not told:
            from ..events import KINDS

            self._heard = told, frozenset(kind for kind in KINDS if self._who_hears(kind, told))
        return self._heard[1]

    def _who_hears(self, kind: type[Event], told: dict[type[Event], Any]) -> tuple[Listener, ...]:
        found = told.get(kind)
        if found is None:
            from ..events import Asked

            hearing = [
                each for each in self.connections() if each.is_enabled
                and (kind is not Asked if each.options.kinds is None else kind in each.options.kinds)
            ]  # fmt: skip
            ordered = in_order((0.0, each) for each in hearing)
            told[kind] = found = tuple([Listener(each, _is_by_name(each)) for each in ordered])
        return found

    def tell(self, bus: Any, event: Event) -> None:
        """Give an event to all who hear its kind; one that raises is logged once, none is re-entered by itself."""
        busy: set[int] = self._busy.__dict__.setdefault("listeners", set())
        fatal: BaseException | None = None
        for listener in self._who_hears(type(event), self._told):
            connected = listener.connected
            if id(connected) in busy or self.is_muted:
                continue
            busy.add(id(connected))
            try:
                listener.tell(bus, event)
            except Exception as error:
                _log(connected, error)
            except BaseException as error:
                fatal = fatal or error
            finally:
                busy.discard(id(connected))
        if fatal is not None:
            raise fatal


def _is_by_name(connected: Connected) -> bool:
    """Tell whether a listener takes the event by its name only."""
    function = connected.function
    signature = inspect.signature(function) if function is not None else inspect.Signature()
    for is_by_name, args, named in ((False, (0, 0), {}), (True, (0,), {"event": 0})):
        try:
            signature.bind(*args, **named)
        except TypeError:
            continue
        return is_by_name
    if function is None:
        return False
    raise HookError(f"{connected.label} cannot be called with a bus and an event; write def listener(bus, event)")


def _log(connected: Connected, error: Exception) -> None:
    if connected.count_failure(error, is_open=True) == 1:
        import logging

        # Neither the event nor the exception's text is logged: both may hold what must not leave the process.
        said = "%s fails on events: %s; said once"
        logging.getLogger("hookbus").error(said, connected.label, connected.last_failure)
