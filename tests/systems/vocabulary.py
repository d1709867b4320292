"""Receivers of the vocabulary, the same for the tools of every system, which all have the argument
`to`.
"""

from __future__ import annotations

from typing import Any

from hookbus import Block, Bus


class Words:
    """A guard that asks for three words, one that asks for all of them, and a modifier.

    Attributes:
        told: of each call, the words that the second guard was given, and its sender.
    """

    def __init__(self, bus: Bus) -> None:
        self.told: list[dict[str, Any]] = []
        pre = bus.signal("pre_tool_call")
        pre.connect(_strip, name="strip")
        pre.connect(_only_inside, role="guard", name="only_inside")
        pre.connect(self._tell, role="guard", priority=1, name="tell")

    def _tell(
        self, sender: Any, name: str, arguments: dict[str, Any], call_id: str | None, kind: str,
        tool: Any, caller: Any,
    ) -> None:  # fmt: skip
        self.told.append({
            "sender": sender, "name": name, "arguments": dict(arguments), "call_id": call_id,
            "kind": kind, "tool": tool, "caller": caller,
        })  # fmt: skip

    def only(self, *words: str) -> list[tuple[Any, ...]]:
        """Return some of the words of each call."""
        return [tuple(told[word] for word in words) for told in self.told]


def _strip(sender: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"arguments": {**arguments, "to": arguments["to"].strip()}}


def _only_inside(sender: Any, name: str, arguments: dict[str, Any]) -> Block | None:
    return Block("eve is outside") if (name, arguments["to"]) == ("mail", "eve") else None
