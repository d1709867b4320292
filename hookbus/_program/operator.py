"""What an operator sets for the receivers and hooks of a bus, while a program runs or before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from blinker import ANY

from .._bus import Bus
from .._connections.options import Act
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._ground.errors import did_you_mean
from ..events import Switched
from ..exceptions import HookError

ACTS: Final[tuple[str, ...]] = get_args(Act)


class Operator:
    """The settings of an operator for one bus. They apply to everything connected under a name, now
    or later.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus, self._board = bus, bus._switchboard
        # The latest setting last: among the names of a receiver, the latest one counts.
        self._acts: dict[str, Act] = {}

    def switch(self, receiver: str, act: Act, by: str) -> list[str]:
        """Switch all receivers with this name; see `Bus.switch`."""
        if act not in ACTS:
            raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
        everything = list(self._everything())
        meant = [each for each in everything if receiver in each.names]
        if not meant and not self._may_set(receiver, act):
            names = [name for each in everything for name in each.names]
            hint = did_you_mean(receiver, names)
            raise HookError(f"no receiver is connected as {receiver!r}{hint}")
        said = [f"{each.label} on {each.signal.name}" for each in meant]
        for each, which in zip(meant, said):
            if each.said.locked and act != "enable":
                raise HookError(f"{which} has locked=True, so it cannot be switched off")
            if each.role != "guard" and act == "shadow":
                raise HookError(f"{which} is not a guard, and only guards can be in shadow")
        self._set(receiver, act)
        for each in meant:
            sender = self._switch(each, act)
            who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
            self._bus.events.tell_of(Switched, each, who, act=act, by=by)
        return said

    def prepare(self, shadow: Iterable[str], require_guard: Iterable[str]) -> None:
        """Set what applies to all that a program will connect and declare; see `Bus._operate`."""
        for name in shadow:
            self._set(name, "shadow")
            for each in self._everything():
                if name in each.names and may_be(each, "shadow"):
                    self._switch(each, "shadow")
        self._board.required |= frozenset(require_guard)
        for hook in self._board.required:
            self._board.discard(hook)

    def _may_set(self, name: str, act: Act) -> bool:
        """Return whether a setting makes sense for a name without connections: one that had it may
        be connected again, as in a reload, and an earlier setting may be undone.
        """
        known = self._board.names
        was_there = name in known or any(each.rpartition(".")[2] == name for each in list(known))
        return was_there and (act != "enable" or bool(self._acts))

    def _set(self, name: str, act: Act) -> None:
        """Record a setting. An `enable` is only kept if it replaces an earlier setting."""
        self._acts.pop(name, None)
        self._acts[name] = act
        for first, earliest in list(self._acts.items()):
            if earliest != "enable":
                break
            del self._acts[first]
        self._board.apply_switches = self._apply

    def _apply(self, new: Connected) -> None:
        """Apply the settings to a new connection."""
        for name, act in reversed([*self._acts.items()]):
            if name in new.names:
                if may_be(new, act):
                    switch(new, act)
                return

    def _everything(self) -> Iterator[Connected]:
        for signal in self._bus.signals():
            yield from signal._registry.everything()

    def _switch(self, each: Connected, act: Act) -> Any:
        """Switch one connection. Return what it is connected to; None if that has been freed."""
        sender = each.owner
        self._board.changing(each.signal, sender)
        switch(each, act)
        self._board.changed(each.signal, sender)
        return sender


def may_be(connected: Connected, act: Act) -> bool:
    """Return whether a setting is possible for a connection: a locked one stays as it is, and only
    a guard can be in shadow.
    """
    if act == "enable":
        return True
    return not connected.said.locked and (act != "shadow" or connected.role == "guard")


def switch(connected: Connected, act: Act) -> None:
    """Switch a receiver off, back to how it was connected, or (a guard) to shadow. What the program
    itself has disabled stays disabled.
    """
    said = connected.said
    connected.options = said._replace(shadow=True) if act == "shadow" else said
    if connected.role == "guard":
        connected.on_error = "isolate" if connected.options.shadow else "block"
    connected.is_switched_off = act == "disable"
