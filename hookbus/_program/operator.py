"""Apply the settings of an operator to the receivers and hooks of a bus, before or while a program
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from blinker import ANY

from .._connections.options import Act
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._ground.errors import did_you_mean
from ..events import Switched
from ..exceptions import HookError

ACTS: Final[tuple[str, ...]] = get_args(Act)


class Operator:
    """The settings of an operator for one bus. They apply to all receivers with a name, including
    receivers that are connected later.
    """

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard
        # In order of time: if a receiver has several names, the latest setting applies.
        self._acts: dict[str, Act] = {}

    def switch(self, receiver: str, act: Act, by: str, *, is_expected: bool = False) -> list[str]:
        """Switch all receivers with this name, as `Bus.switch` describes.

        Args:
            is_expected: whether to record the setting even if no receiver has had this name, for
                receivers that are connected later.
        """
        if act not in ACTS:
            raise HookError(f"act={act!r:.40} is not valid{did_you_mean(str(act), ACTS)}")
        everything = list(self._everything())
        matching = [each for each in everything if receiver in each.names]
        if not matching and not is_expected and not self._may_set(receiver, act):
            names = [name for each in everything for name in each.names]
            hint = did_you_mean(receiver, names)
            raise HookError(f"no receiver is connected as {receiver!r}{hint}")
        if (refusal := self.find_refusal(receiver, act)) is not None:
            raise HookError(refusal)
        labels = [_label(each) for each in matching]
        self._set(receiver, act)
        for each in matching:
            sender = self._switch(each, act)
            who = "ANY" if sender is ANY else "gone" if sender is None else describe(sender)
            self._bus.events.emit_about(Switched, each, who, act=act, by=by)
        return labels

    def find_refusal(self, receiver: str, act: Act) -> str | None:
        """Return the reason why a receiver with this name cannot have the setting, or None."""
        for each in self._everything():
            if receiver not in each.names or may_be(each, act):
                continue
            if each.declared_options.locked:
                return f"{_label(each)} has locked=True, so it cannot be switched off"
            return f"{_label(each)} is not a guard, and only guards can be in shadow mode"
        return None

    def prepare(self, shadow: Iterable[str], require_guard: Iterable[str]) -> None:
        """Set shadowed guards and required guards before a program runs. Both settings also apply
        to later connections and hooks.

        Args:
            shadow: the names of guards that run without blocking. The setting has no effect on a
                locked guard.
            require_guard: the names of hooks whose calls are blocked if no guard covers them.
        """
        for name in shadow:
            self._set(name, "shadow")
            for each in self._everything():
                if name in each.names and may_be(each, "shadow"):
                    self._switch(each, "shadow")
        self._board.required |= frozenset(require_guard)
        for hook in self._board.required:
            self._board.discard(hook)

    def _may_set(self, name: str, act: Act) -> bool:
        """Return whether the setting is possible for a name that no connected receiver has. A
        receiver that had the name may be connected again, for example after a reload. `enable` may
        undo an earlier setting for the name.
        """
        known = self._board.names
        was_there = name in known or any(each.rpartition(".")[2] == name for each in list(known))
        return was_there and (act != "enable" or bool(self._acts))

    def _set(self, name: str, act: Act) -> None:
        """Record a setting. An `enable` is recorded only if another setting was recorded before it.
        """
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
        """Switch one connection. Return its sender, or None if the sender has been freed."""
        sender = each.owner
        self._board.changing(each.signal, sender)
        switch(each, act)
        self._board.changed(each.signal, sender)
        return sender


def _label(connected: Connected) -> str:
    return f"{connected.label} on {connected.signal.name}"


def may_be(connected: Connected, act: Act) -> bool:
    """Return whether a setting is possible for a connection: a locked guard cannot be switched off,
    and only a guard can be in shadow mode.
    """
    if act == "enable":
        return True
    return not connected.declared_options.locked and (act != "shadow" or connected.role == "guard")


def switch(connected: Connected, act: Act) -> None:
    """Disable a receiver, restore its original options, or put a guard in shadow mode. A receiver
    that the program itself disabled stays disabled.
    """
    declared = connected.declared_options
    connected.options = declared._replace(shadow=True) if act == "shadow" else declared
    if connected.role == "guard":
        connected.on_error = "isolate" if connected.options.shadow else "block"
    connected.is_switched_off = act == "disable"
