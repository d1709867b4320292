"""Check each connection when it is made, so that no call needs to check it."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from .._callables.callables import code_of
from .._callables.instructions import returns_nothing
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.senders import own_class
from .._connections.signal import HookSignal
from .._ground.errors import warn
from .._hooks.hook import Hook, hook_of
from .._hooks.identity import with_subclasses
from .._hooks.statics import class_of, holder_of, static_holders
from ..exceptions import HookError
from .coverage import check_required
from .fit import check_can_call, check_sender, check_serves
from .misplaced import MisplacedGuards
from .overrides import uncovered_overrides

_VERDICTS: Final = {"Block": "a Block", "Ask": "an Ask"}


class Checks:
    """Checks the connections of one bus.

    It rejects connections that cannot work, and warns about guards that code can bypass.
    """

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard
        self._misplaced = MisplacedGuards(self._board)
        self.expect, self.report_misplaced = self._misplaced.expect, self._misplaced.look

    # -- one connection ----------------------------------------------------------------------------

    def check_sender(self, signal: HookSignal, sender: Any) -> None:
        """Raise HookError for an object that can never be a sender of this signal.

        Raises:
            HookError: with a message that contains the correct form.
        """
        if signal is self._board.events and sender is not self._bus:
            raise HookError(
                "the sender of events is always the bus: leave out sender=; to decorate a "
                "listener, write @events.connect_via()"
            )
        if signal.phase == ANSWER:
            name = signal.name
            raise HookError(
                f"{name} is a hookspec and takes no sender: write @{name}.connect or "
                f"@{name}.connect_via(priority=1)"
            )
        if signal.phase is not None:
            if type(sender) is not type:
                check_can_call(sender)
            if isinstance(sender, FunctionType):
                hooks = self._board.declared(signal.hook)
                check_sender(hooks, sender, self._board.looked_at.owners)

    def check(self, receiver: Connected, sender: Any) -> None:
        """Raise HookError for a receiver that cannot work, and warn about a guard that code can
        bypass.

        Raises:
            HookError: with a message that describes the problem and says what to write instead.
        """
        signal = receiver.signal
        is_met = check_serves(receiver, self._board.declared(signal.hook), sender)
        if receiver.role == "guard" and not (signal.phase and is_met):
            self._misplaced.wait(signal)
        if receiver.on_error == "block" and sender is not ANY:
            own = hook_of(sender)
            cls = (own and holder_of(own)) or own_class(sender)
            classes = with_subclasses([cls]) if cls is sender or own else [cls]
            self.report_overrides(receiver, signal.hook, classes, warn)

    def warn_of_lost_verdict(self, guard: Connected) -> None:
        """Warn about a guard that creates a verdict but never returns it, so it can never block."""
        code = code_of(guard.held)
        for name, verdict in _VERDICTS.items():
            if code is not None and name in code.co_names:
                if returns_nothing(code):
                    write = f"write return {name}({'reason' if name == 'Block' else 'question'})"
                    guards = f"{guard.label} on {guard.signal.name}"
                    warn(f"{guards} creates {verdict} but never returns it: {write}")
                return

    def report_overrides(
        self, receiver: Connected, hook: str, classes: list[type], say: Callable[[str], Any]
    ) -> None:
        """Report the overrides in these classes whose calls bypass a blocking receiver."""
        for cls in classes:
            self._board.look_at(cls).add(hook)
        for override in uncovered_overrides(self._bus, classes, hook):
            say(f"{receiver.label} does not guard all of {override}")

    # -- the whole bus -----------------------------------------------------------------------------

    def require_guard(self, hook: str, phase: str, sender: Any, default: Any) -> None:
        """Check that every call to a hook has a guard, as `Bus.require_guard` describes."""
        check_required(self._bus, hook, phase, sender, default)

    def uncovered(self) -> list[str]:
        """Describe each override of a hookable method that is not hooked, and say whether receivers
        see its calls. The result covers only classes that receivers were connected to, or whose
        methods were called.
        """
        owners = (cls for _, cls in static_holders(self._board.hooks()))
        classes = [*self._board.looked_at.owners(), *owners]
        return uncovered_overrides(self._bus, with_subclasses(classes))

    def class_of(self, hook: Hook) -> type | None:
        """Return the class that defines the method of a hook, or None if that class is not known. A
        class is known if a receiver was connected to it, if its method was called, or if its
        qualified name leads to it.
        """
        return class_of(hook, self._board.looked_at.owners)
