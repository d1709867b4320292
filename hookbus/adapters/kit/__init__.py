"""Build an adapter for a framework by describing the functions that run its calls.

    from hookbus.adapters.kit import Adapter

    agentlib = Adapter("agentlib", tested=("1.0", "1.4"), refused=lambda refused: refused.text)
    agentlib.tool("agentlib:Tool.run", arguments="arguments", call_id="call_id")
    uninstall = agentlib.install()

To test it, use `hookbus.testing.adapter_contract`.
"""

from .._halves import Go, Instead
from .._halves import Halves as SplitCalls
from .._seams import Sample
from .._tools import Gate, Refusal, ToolCall
from ._adapter import Adapter
from ._forms import refused_as, shown_as
from ._kinds import kind_by_class

__all__ = [
    "Adapter", "Gate", "Go", "Instead", "Refusal", "Sample", "SplitCalls", "ToolCall",
    "kind_by_class", "refused_as", "shown_as",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
