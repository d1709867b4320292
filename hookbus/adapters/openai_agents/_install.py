"""`install`: replaces functions of the SDK, and restores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hookbus import Bus, HookBlocked, default_bus

from ..._keywords import named_options
from .._newer import Untested
from .._patches import Between, Uninstall
from .._vocabulary import refusal
from ..kit import Adapter
from ._actions import hook_actions
from ._approvals import BY_RUN_STATE, hook_approvals
from ._functions import hook_functions
from ._handoffs import hook_handoffs
from ._runs import hook_models, hook_runs
from ._words import module, packed, plain

if TYPE_CHECKING:
    from hookbus.approvals import Store

SUPPORTED: Final = Between("0.22.0", "0.24.0")
"""Versions of openai-agents. Its tools run in functions of private modules, which may move."""

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


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools, models and runs of the OpenAI Agents SDK, for both existing and future
    agents.

    `tool_call` (sender: the tool) covers every call of a function tool, a tool of a local MCP
    server, an agent used as a tool, and a custom, shell, local shell, patch or computer tool. It
    also covers every hand-off (sender: the `Handoff`). The model reads the reason for a blocked
    call, and a blocked hand-off does not happen. A blocked call is never the final output of a run:
    if `tool_use_behavior` would stop on it, the run continues and the model reads the reason. A
    patch with several operations makes one call for each operation. `model_call` and `model_stream`
    (sender: the `Model`) cover the calls of every model. `agent_run` covers `Runner.run` and
    `run_sync`; its result is the `RunResult`. `agent_stream` covers a whole streamed run; its parts
    are those of `model_stream`. A blocked model call or run raises `HookBlocked`.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: a store that the bus asks for approval while the run is interrupted. Approve or
            reject the `interruptions` of the run in its `RunState`, and resume the run with it.
            Local shell and computer tools, patches of several files and hand-offs cannot be
            interrupted and are blocked instead.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores the SDK. A second call does nothing.

    Raises:
        HookError: if openai-agents is not installed, is incompatible, lacks a function that this
            adapter replaces, or already runs on hookbus; or if the bus has another approver.
    """
    return _ADAPTER.install_with(bus, say=say, approver=approver, untested=untested)
