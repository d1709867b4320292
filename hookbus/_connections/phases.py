"""The phases of a call, the parameters that receivers may have in each phase, and the names of
signals.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

FunctionKind = Literal["sync", "async", "generator", "async generator"]

PHASES: Final = ("pre", "around", "item", "post", "error", "finally")

ANSWER: Final = "answer"
"""The phase in which the receivers of a hookspec answer; its signal has the name of the hookspec.
"""

EXTRA_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "pre": ("ctx", "baggage"),
    "around": ("ctx", "baggage", "call_next"),
    "item": ("ctx", "baggage", "item"),
    "post": ("ctx", "baggage", "result"),
    "error": ("ctx", "baggage", "error"),
    "finally": ("ctx", "baggage", "result", "error"),
    ANSWER: ("ctx", "baggage"),
}
"""The parameters that a receiver may have in each phase, besides the arguments of the method."""


class Served(NamedTuple):
    """The facts about a hookable that determine whether a receiver suits it.

    Attributes:
        hook: the name of the hook.
        kind: the kind of the function: sync, async, generator or async generator.
        arguments: the names that a receiver may have as parameters.
        sender: the name of the argument that is also the sender, or None.
        awaits: whether a call to a plain function waits for async receivers.
    """

    hook: str
    kind: FunctionKind
    arguments: tuple[str, ...]
    sender: str | None = None
    awaits: bool = False
