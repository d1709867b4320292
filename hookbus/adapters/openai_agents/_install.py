"""Installs the adapter: replaces functions of the SDK, and later restores them."""

from __future__ import annotations

from typing import Final

from .._patches import Between
from ..kit import Adapter
from ._actions import hook_actions
from ._approvals import BY_RUN_STATE, hook_approvals
from ._functions import hook_functions
from ._handoffs import hook_handoffs
from ._runs import hook_models, hook_runs
from ._words import module, packed, plain

SUPPORTED: Final = Between("0.22.0", "0.24.0")
"""Versions of openai-agents. The SDK runs tools in functions of private modules, which may move in
a later release."""

_ADAPTER: Final = Adapter(
    "openai-agents", tested=SUPPORTED, shown=plain, packed=packed, refused=lambda refused: refused,
    sample="hookbus.adapters._seams.openai_agents",
)  # fmt: skip
_ADAPTER.words("tool_call", "model_call", "model_stream", "agent_run", "agent_stream")
for _part in ("Input", "Output", "ToolInput", "ToolOutput"):
    _ADAPTER.pauses(f"agents.exceptions:{_part}GuardrailTripwireTriggered")
_ADAPTER.asks(BY_RUN_STATE)
_ADAPTER.also(lambda gate: module("run"))  # and everything it runs
for _hook in (hook_functions, hook_actions, hook_handoffs, hook_models, hook_runs, hook_approvals):
    _ADAPTER.also(_hook)

install = _ADAPTER.install
