"""What an operator makes of a connection: off, as it was connected, or in shadow."""

from __future__ import annotations

from typing import Final, Literal, get_args

from .receiver import Connected

Switch = Literal["disable", "enable", "shadow"]
ACTS: Final[tuple[str, ...]] = get_args(Switch)


def switch(connected: Connected, act: Switch) -> None:
    """Have a receiver called no more, as it was connected, or, of a guard, in shadow."""
    said = connected.said
    connected.options = said._replace(enforce=False) if act == "shadow" else said
    if connected.role == "guard":
        connected.on_error = "block" if connected.options.enforce else "isolate"
    connected.is_enabled = act != "disable"


def is_shadowed(connected: Connected, names: frozenset[str]) -> bool:
    """Tell whether this is a guard that an operator wants in shadow, by its name, and may."""
    is_meant = connected.role == "guard" and not names.isdisjoint(connected.names)
    return is_meant and not connected.said.locked
