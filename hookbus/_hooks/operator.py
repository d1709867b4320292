"""The operator's word on what a program connects and declares: `Bus.switch` and `Bus.operate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from blinker import ANY

from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.switches import ACTS, Switch, Switches, may_be, switch
from .._keywords import named_options
from ..exceptions import HookError, did_you_mean

if TYPE_CHECKING:
    from .._bus import Bus


class Operated:
    """What a bus lets an operator say of receivers and hooks."""

    _switches: Switches
    _required: frozenset[str] = frozenset()

    @named_options
    def switch(self, receiver: str, act: Switch, *, by: str) -> list[str]:
        """Switch whatever is connected under a name, while the program runs: the operator's word.

        It holds from the next call on, and for what is connected under the name later, as after a
        reload, until the operator says otherwise: what the program connects, disables or enables
        by itself changes nothing of it. Each connection that there is is told as an event,
        `Switched`.

        Args:
            receiver: its name, or the last part of it.
            act: `"disable"`: it is not called; `"shadow"`, for guards: asked, it blocks nothing;
                `"enable"`: it is what the program has made of it.
            by: who says so.

        Returns:
            The receivers that were switched, each with its signal and its place; none where what
            had the name is gone for now.

        Raises:
            HookError: if nobody has or had the name, or one of them is locked or cannot be in
                shadow; then none is switched.
        """
        from ..events import Switched

        bus: Any = self
        if act not in ACTS:
            raise HookError(f"act={act!r:.40}{did_you_mean(str(act), ACTS)}")
        everything = [each for signal in bus.signals() for each in signal._registry.everything()]
        meant = [each for each in everything if receiver in each.names]
        if not meant and not self._switches.may_say(receiver, act):
            names = [name for each in everything for name in each.names]
            raise HookError(f"nobody is connected as {receiver!r}{did_you_mean(receiver, names)}")
        said = [f"{each.label} on {each.signal.name}" for each in meant]
        for each, which in zip(meant, said):
            if each.said.locked and act != "enable":
                raise HookError(f"{which} is locked=True: it stays in force")
            if each.role != "guard" and act == "shadow":
                raise HookError(f"{which} is no guard: only these can be in shadow")
        self._switches.say(receiver, act)
        for each in meant:
            sender = _switch(bus, each, act)
            who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
            bus.events.tell_of(Switched, each, who, act=act, by=by)
        return said

    def _operate(self, *, shadow: Iterable[str] = (), require: Iterable[str] = ()) -> None:
        """Say, before a program runs, what holds of all it will connect and declare.

        Args:
            shadow: names of guards that are asked and block nothing. A locked one is not in shadow.
            require: names of hooks of which every call is blocked that no guard watches over.
        """
        bus: Any = self
        for name in shadow:
            self._switches.say(name, "shadow")
            for signal in bus.signals():
                for each in signal._registry.everything():
                    if name in each.names and may_be(each, "shadow"):
                        _switch(bus, each, "shadow")
        self._required |= frozenset(require)
        for hook in self._required:
            bus._forget(hook)


def _switch(bus: Bus, each: Connected, act: Switch) -> Any:
    """Switch one connection, and return whom it is connected to; None where that is gone."""
    sender = each.owner
    bus._changing(each.signal, sender)
    switch(each, act)
    bus._changed(each.signal, sender)
    return sender
