"""The meaning of an answer, by phase and role of the receiver (sections 3 and 4 of the design)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .described import ABSENT, NAMES, Program, Receiver


class Failure(Exception):
    """A receiver's own failure, before its policy is applied."""

    def __init__(self, kind: str = "misuse") -> None:
        super().__init__(kind)
        self.kind = kind


def decision(program: Program, receiver: Receiver) -> str:
    """Return `"nothing"`, `"patch"`, `"supply"`, `"value"`, `"drop"`, `"ask"`, `"ask astray"`
    or `"block"`; any other answer is a failure.
    """
    match receiver.phase, receiver.role, receiver.says.kind:
        case (_, _, "nothing" | "swallow"):
            return "nothing"
        case (phase, "observe", kind):
            if kind in ("ask", "block", "replace", "drop") or (phase, kind) == ("pre", "patch"):
                raise Failure
            return "nothing"
        case ("pre" | "item" | "post", _, "block"):
            return "block"
        case ("pre", "guard", "ask"):
            return "ask"
        case ("pre" | "item" | "post", "modify", "ask"):
            return "ask astray"
        case ("pre", "modify", "patch"):
            return "patch"
        case ("pre" | "error", "modify", "replace") if not program.is_stream or isinstance(
            receiver.says.value, list | tuple
        ):
            return "supply"
        case ("item" | "post", "modify", "value" | "patch" | "replace"):
            return "value"
        case ("item", "modify", "drop"):
            return "drop"
    raise Failure


def draft(receiver: Receiver) -> Mapping[str, Any]:
    """Return what a modifier of `pre` makes of the arguments: its writes, and over them its patch.
    """
    patch = receiver.says.value if receiver.says.kind == "patch" else {}
    return checked({**dict(receiver.writes), **patch})


def checked(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the patch if its values can be bound to `work(a, b=2, *rest, **more)`."""
    rest, more = patch.get("rest", ()), patch.get("more", {})
    is_bindable = (
        isinstance(rest, list | tuple)
        and isinstance(more, Mapping)
        and not {"self", "a", "b"} & more.keys()
    )
    if not is_bindable or ABSENT in patch.values() or not patch.keys() <= set(NAMES):
        raise Failure
    return patch


def may_write(receiver: Receiver) -> bool:
    """Whether `ctx.kwargs` is a draft for this receiver."""
    return (receiver.phase, receiver.role) == ("pre", "modify")
