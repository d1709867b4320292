"""What is wrong with a connection: checked when it is made, and never part of a call."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from .._callables.callables import code_of
from .._callables.instructions import returns_nothing
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.senders import check_can_call, own_class
from .._connections.signal import HookSignal
from .._ground.errors import warn
from .._hooks.hook import Hook, hook_of
from .._hooks.statics import class_of, holder_of, static_holders, with_subclasses
from ..exceptions import HookError
from .coverage import check_required
from .fit import check_sender, check_serves
from .misplaced import MisplacedGuards
from .overrides import uncovered_overrides

_VERDICTS: Final = {"Block": "a Block", "Ask": "an Ask"}


class Checks:
    """The checks of the connections of one bus.

    They reject a connection that cannot work, and warn about a guard that can be bypassed.
    """

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard
        self._misplaced = MisplacedGuards(self._board)
        self.expect, self.report_misplaced = self._misplaced.expect, self._misplaced.look

    # -- one connection ----------------------------------------------------------------------------

    def check_sender(self, signal: HookSignal, sender: Any) -> None:
        """Reject what is never a sender of this signal.

        Raises:
            HookError: naming what to write instead.
        """
        if signal is self._board.events and sender is not self._bus:
            raise HookError(
                "the sender of events is always the bus: leave out sender=, and to decorate "
                "write @events.connect_via()"
            )
        if signal.phase == ANSWER:
            name = signal.name
            raise HookError(
                f"{name} is a hookspec and takes no sender: write @{name}.connect or "
                f"@{name}.connect_via(priority=1)"
            )
        if signal.phase is not None:
            check_can_call(sender)
            if isinstance(sender, FunctionType):
                hooks = self._board.declared(signal.hook)
                check_sender(hooks, sender, self._board.looked_at.owners)

    def check(self, receiver: Connected, sender: Any) -> None:
        """Reject a receiver that cannot work; warn about a guard that can be bypassed.

        Raises:
            HookError: saying what does not fit, and what to write instead.
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
        """Warn about a guard that can never block, because it does not return the verdict it makes.
        """
        code = code_of(guard.held)
        for name, said in _VERDICTS.items():
            if code is not None and name in code.co_names:
                if returns_nothing(code):
                    write = f"write return {name}({'reason' if name == 'Block' else 'question'})"
                    guards = f"{guard.label} on {guard.signal.name}"
                    warn(f"{guards} makes {said} but never returns it: {write}")
                return

    def report_overrides(
        self, receiver: Connected, hook: str, classes: list[type], say: Callable[[str], Any]
    ) -> None:
        """Report for some classes what a receiver that blocks does not see."""
        for cls in classes:
            self._board.look_at(cls).add(hook)
        for override in uncovered_overrides(self._bus, classes, hook):
            say(f"{receiver.label} does not guard all of {override}")

    # -- the whole bus -----------------------------------------------------------------------------

    def require_guard(self, hook: str, phase: str, sender: Any, default: Any) -> None:
        """Check that every call of a hook has a guard; see `Bus.require_guard`."""
        check_required(self._bus, hook, phase, sender, default)

    def uncovered(self) -> list[str]:
        """List the overrides of hookable methods that are not hooked, and what receivers see of
        them. Only classes that were a sender, or were called, are listed.
        """
        held = (cls for _, cls in static_holders(self._board.hooks()))
        classes = [*self._board.looked_at.owners(), *held]
        return uncovered_overrides(self._bus, with_subclasses(classes))

    def class_of(self, hook: Hook) -> type | None:
        """Return the class whose method a hook is, or None if it is not known. It is known once it
        was a sender, was called, or can be imported by name.
        """
        return class_of(hook, self._board.looked_at.owners)
