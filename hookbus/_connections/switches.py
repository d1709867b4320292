"""What an operator makes of connections by name: off, as they were connected, or in shadow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from .receiver import Connected

Switch = Literal["disable", "enable", "shadow"]
ACTS: Final[tuple[str, ...]] = get_args(Switch)

_MOST: Final = 4096
"""So many names are remembered of connections that have gone."""


class Switches:
    """The operator's word by name: it holds for what is connected under the name from then on.

    Attributes:
        acts: by name, the latest word last: of a receiver's names, the latest one counts.
    """

    def __init__(self) -> None:
        self.acts: dict[str, Switch] = {}
        self._known: dict[str, None] = {}

    def may_say(self, name: str, act: Switch) -> bool:
        """Tell whether there is something to say where nobody is connected under a name: one that
        had it may come again, as in a reload; and an earlier word may be taken back.
        """
        return name in self._known and (act != "enable" or bool(self.acts))

    def say(self, name: str, act: Switch) -> None:
        """Note an act. An `enable` matters only where an earlier word might hold otherwise."""
        self.acts.pop(name, None)
        self.acts[name] = act
        for first, earliest in list(self.acts.items()):
            if earliest != "enable":
                break
            del self.acts[first]

    def meet(self, new: Connected) -> None:
        """Give a new connection what the operator has said of its name."""
        for name in new.names:
            self._known[name] = None
        while len(self._known) > _MOST:
            self._known.pop(next(iter(self._known)), None)
        if self.acts and (act := _said_of(self.acts, new)) is not None and may_be(new, act):
            switch(new, act)


def _said_of(acts: Mapping[str, Switch], connected: Connected) -> Switch | None:
    """Return the latest word on any of the names of a connection."""
    return next((acts[name] for name in reversed([*acts]) if name in connected.names), None)


def may_be(connected: Connected, act: Switch) -> bool:
    """Tell whether this can be made of a connection: a locked one stays in force, and only a guard
    can be in shadow.
    """
    if act == "enable":
        return True
    return not connected.said.locked and (act != "shadow" or connected.role == "guard")


def switch(connected: Connected, act: Switch) -> None:
    """Have a receiver called no more, as it was connected, or, of a guard, in shadow; what the
    program itself has disabled stays so.
    """
    said = connected.said
    connected.options = said._replace(shadow=True) if act == "shadow" else said
    if connected.role == "guard":
        connected.on_error = "isolate" if connected.options.shadow else "block"
    connected.is_switched_off = act == "disable"
