"""The phases of a call, what a receiver may ask for in each, and the names of their signals."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Colour = Literal["sync", "async", "generator", "async generator"]

PHASES: Final = ("pre", "around", "item", "post", "error", "finally")

ANSWER: Final = "answer"
"""The phase in which the receivers of a hookspec answer; its signal has the name of the hookspec
itself.
"""

OFFERED: Final[dict[str, tuple[str, ...]]] = {
    "pre": ("ctx", "baggage"),
    "around": ("ctx", "baggage", "call_next"),
    "item": ("ctx", "baggage", "item"),
    "post": ("ctx", "baggage", "result"),
    "error": ("ctx", "baggage", "error"),
    "finally": ("ctx", "baggage", "result", "error"),
    ANSWER: ("ctx", "baggage"),
}
"""What a receiver may ask for by name in each phase, besides the arguments of the method."""


class Served(NamedTuple):
    """What a receiver has to know of a hookable to serve it.

    Attributes:
        hook: its name.
        colour: how it is called.
        arguments: what can be asked for by name.
        sender: the argument that is the sender, too, or None.
        awaits: whether a plain call waits for async receivers.
    """

    hook: str
    colour: Colour
    arguments: tuple[str, ...]
    sender: str | None = None
    awaits: bool = False


def split_signal_name(name: str) -> tuple[str, str] | None:
    """Return the phase and the hook of a signal's name, or None for a name that belongs to no
    phase.
    """
    phase, _, hook = name.partition("_")
    return (phase, hook) if phase in PHASES and hook else None
