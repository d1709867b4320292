"""What an operator sets for the receivers and hooks of a bus, while a program runs or before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blinker import ANY

from .._bus import Bus
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.switches import ACTS, Switch, may_be, switch
from .._errors import did_you_mean
from ..events import Switched
from ..exceptions import HookError


class Operator:
    """The settings of an operator for one bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._board, self._switches = bus, bus._switchboard, bus._switches

    def switch(self, receiver: str, act: Switch, by: str) -> list[str]:
        """Switch all receivers with this name; see `Bus.switch`."""
        if act not in ACTS:
            raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
        everything = list(self._everything())
        meant = [each for each in everything if receiver in each.names]
        if not meant and not self._switches.may_say(receiver, act):
            names = [name for each in everything for name in each.names]
            hint = did_you_mean(receiver, names)
            raise HookError(f"no receiver is connected as {receiver!r}{hint}")
        said = [f"{each.label} on {each.signal.name}" for each in meant]
        for each, which in zip(meant, said):
            if each.said.locked and act != "enable":
                raise HookError(f"{which} has locked=True, so it cannot be switched off")
            if each.role != "guard" and act == "shadow":
                raise HookError(f"{which} is not a guard, and only guards can be in shadow")
        self._switches.say(receiver, act)
        for each in meant:
            sender = self._switch(each, act)
            who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
            self._bus.events.tell_of(Switched, each, who, act=act, by=by)
        return said

    def prepare(self, shadow: Iterable[str], require_guard: Iterable[str]) -> None:
        """Set what applies to all that a program will connect and declare; see `Bus._operate`."""
        for name in shadow:
            self._switches.say(name, "shadow")
            for each in self._everything():
                if name in each.names and may_be(each, "shadow"):
                    self._switch(each, "shadow")
        self._board.required |= frozenset(require_guard)
        for hook in self._board.required:
            self._board.discard(hook)

    def _everything(self) -> Iterator[Connected]:
        for signal in self._bus.signals():
            yield from signal._registry.everything()

    def _switch(self, each: Connected, act: Switch) -> Any:
        """Switch one connection. Return what it is connected to; None if that has been freed."""
        sender = each.owner
        self._board.changing(each.signal, sender)
        switch(each, act)
        self._board.changed(each.signal, sender)
        return sender
