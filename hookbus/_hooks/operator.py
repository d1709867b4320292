"""Operator settings for what a program connects and declares: `Bus.switch` and `Bus.operate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from blinker import ANY

from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.switches import ACTS, Switch, Switches, may_be, switch
from .._errors import did_you_mean
from .._keywords import named_options
from ..exceptions import HookError

if TYPE_CHECKING:
    from .._bus import Bus


class Operated:
    """The part of `Bus` for operators: switches of receivers and hooks."""

    _switches: Switches
    _required: frozenset[str] = frozenset()

    @named_options
    def switch(self, receiver: str, act: Switch, *, by: str) -> list[str]:
        """Switch all receivers with this name, while the program runs. This is for an operator.

        It applies from the next call on, and to whatever is connected under the name later, as
        after a reload, until the operator switches again. What the program itself connects,
        disables or enables does not change it. For each present connection, an event `Switched` is
        emitted.

        Args:
            receiver: its name, or the last part of it.
            act: `"disable"`: it is not called. `"shadow"`, for guards: it is called, but blocks
                nothing. `"enable"`: it works as the program has set it.
            by: who switches it, for the event.

        Returns:
            The receivers that were switched, each with its signal and its place. The list is empty
            if no receiver has the name at present.

        Raises:
            HookError: if no receiver has or had the name, or if one of them is locked or cannot be
                in shadow. Then none is switched.
        """
        from ..events import Switched

        bus: Any = self
        if act not in ACTS:
            raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
        everything = [each for signal in bus.signals() for each in signal._registry.everything()]
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
            sender = _switch(bus, each, act)
            who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
            bus.events.tell_of(Switched, each, who, act=act, by=by)
        return said

    def _operate(self, *, shadow: Iterable[str] = (), require_guard: Iterable[str] = ()) -> None:
        """Set, before a program runs, what applies to all that it will connect and declare.

        Args:
            shadow: names of guards that are called but block nothing. It has no effect on a locked
                guard.
            require_guard: names of hooks whose calls are blocked if no guard covers them.
        """
        bus: Any = self
        for name in shadow:
            self._switches.say(name, "shadow")
            for signal in bus.signals():
                for each in signal._registry.everything():
                    if name in each.names and may_be(each, "shadow"):
                        _switch(bus, each, "shadow")
        self._required |= frozenset(require_guard)
        for hook in self._required:
            bus._forget(hook)


def _switch(bus: Bus, each: Connected, act: Switch) -> Any:
    """Switch one connection. Return what it is connected to; None if that has been freed."""
    sender = each.owner
    bus._changing(each.signal, sender)
    switch(each, act)
    bus._changed(each.signal, sender)
    return sender
