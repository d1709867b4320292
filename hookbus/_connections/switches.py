"""Operator switches of connections by name: off, as they were connected, or in shadow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from .receiver import Connected

Switch = Literal["disable", "enable", "shadow"]
ACTS: Final[tuple[str, ...]] = get_args(Switch)

_MOST: Final = 4096
"""How many names of removed connections are remembered."""


class Switches:
    """An operator's settings by name. They apply to everything connected under the name later.

    Attributes:
        acts: by name, the latest setting last: among a receiver's names, the latest one counts.
    """

    def __init__(self) -> None:
        self.acts: dict[str, Switch] = {}
        self._known: dict[str, None] = {}

    def may_say(self, name: str, act: Switch) -> bool:
        """Return whether a setting makes sense for a name without connections: one that had it may
        be connected again, as in a reload, and an earlier setting may be undone.
        """
        return name in self._known and (act != "enable" or bool(self.acts))

    def say(self, name: str, act: Switch) -> None:
        """Record a setting. An `enable` is only kept if it replaces an earlier setting."""
        self.acts.pop(name, None)
        self.acts[name] = act
        for first, earliest in list(self.acts.items()):
            if earliest != "enable":
                break
            del self.acts[first]

    def meet(self, new: Connected) -> None:
        """Apply the operator's settings to a new connection."""
        for name in new.names:
            self._known[name] = None
        while len(self._known) > _MOST:
            self._known.pop(next(iter(self._known)), None)
        if self.acts and (act := _said_of(self.acts, new)) is not None and may_be(new, act):
            switch(new, act)


def _said_of(acts: Mapping[str, Switch], connected: Connected) -> Switch | None:
    """Return the latest setting for any of the names of a connection."""
    return next((acts[name] for name in reversed([*acts]) if name in connected.names), None)


def may_be(connected: Connected, act: Switch) -> bool:
    """Return whether a setting is possible for a connection: a locked one stays as it is, and only
    a guard can be in shadow.
    """
    if act == "enable":
        return True
    return not connected.said.locked and (act != "shadow" or connected.role == "guard")


def switch(connected: Connected, act: Switch) -> None:
    """Switch a receiver off, back to how it was connected, or (a guard) to shadow. What the program
    itself has disabled stays disabled.
    """
    said = connected.said
    connected.options = said._replace(shadow=True) if act == "shadow" else said
    if connected.role == "guard":
        connected.on_error = "isolate" if connected.options.shadow else "block"
    connected.is_switched_off = act == "disable"
