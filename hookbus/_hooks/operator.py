"""What an operator sets for the receivers and hooks of a bus, while a program runs or before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blinker import ANY

from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.switches import ACTS, Switch, may_be, switch
from .._errors import did_you_mean
from ..exceptions import HookError
from .switchboard import Switchboard


def switch_receivers(bus: Any, receiver: str, act: Switch, by: str) -> list[str]:
    """Switch all receivers with this name; see `Bus.switch`."""
    from ..events import Switched

    if act not in ACTS:
        raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
    everything = list(_everything(bus))
    meant = [each for each in everything if receiver in each.names]
    if not meant and not bus._switches.may_say(receiver, act):
        names = [name for each in everything for name in each.names]
        hint = did_you_mean(receiver, names)
        raise HookError(f"no receiver is connected as {receiver!r}{hint}")
    said = [f"{each.label} on {each.signal.name}" for each in meant]
    for each, which in zip(meant, said):
        if each.said.locked and act != "enable":
            raise HookError(f"{which} has locked=True, so it cannot be switched off")
        if each.role != "guard" and act == "shadow":
            raise HookError(f"{which} is not a guard, and only guards can be in shadow")
    bus._switches.say(receiver, act)
    for each in meant:
        sender = _switch(bus._switchboard, each, act)
        who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
        bus.events.tell_of(Switched, each, who, act=act, by=by)
    return said


def prepare(bus: Any, shadow: Iterable[str], require_guard: Iterable[str]) -> None:
    """Set what applies to all that a program will connect and declare; see `Bus._operate`."""
    board: Switchboard = bus._switchboard
    for name in shadow:
        bus._switches.say(name, "shadow")
        for each in _everything(bus):
            if name in each.names and may_be(each, "shadow"):
                _switch(board, each, "shadow")
    board.required |= frozenset(require_guard)
    for hook in board.required:
        board.discard(hook)


def _everything(bus: Any) -> Iterator[Connected]:
    for signal in bus.signals():
        yield from signal._registry.everything()


def _switch(board: Switchboard, each: Connected, act: Switch) -> Any:
    """Switch one connection. Return what it is connected to; None if that has been freed."""
    sender = each.owner
    board.changing(each.signal, sender)
    switch(each, act)
    board.changed(each.signal, sender)
    return sender
