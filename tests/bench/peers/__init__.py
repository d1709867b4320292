"""Other systems with hooks, each in a separate environment, measured against the same
handwritten code in one process.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A system: what pip installs, the Python it needs if not this one, and what of it cannot be
    measured here.
    """

    name: str
    requirements: tuple[str, ...]
    left_out: str
    python: str | None = None


PEERS = {
    peer.name: peer
    for peer in (
        # It was made for an older mcp, and does not ask for all that it imports.
        Peer(
            "agentscope", ("agentscope==1.0.21", "mcp<2", "greenlet", "tqdm"),
            "its hooks are async; its middleware wraps tool calls, as async generators",
        ),
        Peer("agno", ("agno==3.1.10",),
             "one pre_hook and one post_hook per tool, so no P3; idle is a call without hooks"),
        Peer("strands", ("strands-agents==1.62.0",),
             "its middleware wraps tool calls, as async generators"),
        Peer("agenticx", ("agenticx==0.6.5",),
             "it has no around; async: agenticx.runtime.hooks, sync: agenticx.core.hooks"),
        Peer("bub", ("bub==0.5.1",), "it has no around, and sync only where it asks questions",
             python="3.12"),
        Peer("langchain", ("langchain>=1,<2",),
             "before_model and after_model are nodes of a graph and cannot be called alone"),
    )
}  # fmt: skip
