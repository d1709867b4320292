"""`install`: what it replaces in the SDK, and how it restores it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hookbus import Bus, HookBlocked, default_bus

from .._newer import Untested, patches_of
from .._patches import Between, Uninstall, exceptions, named_options
from .._tools import Gate, Results
from .._vocabulary import refusal
from ._actions import hook_actions
from ._approvals import BY_RUN_STATE, hook_approvals
from ._functions import hook_functions
from ._handoffs import hook_handoffs
from ._runs import hook_models, hook_runs
from ._words import packed, plain

if TYPE_CHECKING:
    from hookbus.approvals import Store

SUPPORTED: Final = Between("0.22.0", "0.24.0")
"""Versions of openai-agents. Its tools run in functions of private modules, which move."""

PASSES: Final = tuple(
    f"agents.exceptions:{part}GuardrailTripwireTriggered"
    for part in ("Input", "Output", "ToolInput", "ToolOutput")
)
"""Exceptions that hand control back to the SDK; they are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the agents of the OpenAI Agents SDK, existing and future ones.

    `tool_call` (sender: the tool) is every call of a function tool, of a tool of a local MCP
    server, of an agent that is a tool, of a custom, shell, local shell, patch or computer tool, and
    every hand-off (sender: the `Handoff`). The model reads why a call was blocked, and a blocked
    hand-off does not happen. A block is never the answer of a run: where `tool_use_behavior` would
    stop on it, the model reads it and continues. A patch with several operations is one call for
    each.
    `model_call` and `model_stream` (sender: the `Model`) are those of every model; `agent_run` is
    `Runner.run` and `run_sync`, with the `RunResult` as result; `agent_stream` is a streamed run as
    a whole, and its parts are those of `model_stream`. A block there raises `HookBlocked`.

    Args:
        bus: the bus whose signals are emitted.
        say: returns the text of a refused call from its `HookBlocked`; a model reads it.
        approver: a store for approvals, while the run is interrupted: approve or reject its
            `interruptions` in the `RunState` that continues it. Local shell and computer tools,
            patches of several files and hand-offs are blocked until then.
        untested: what to do with a release newer than those tested: `"check"` verifies what the
            adapter replaces and calls a tool on a private bus; `"refuse"` raises.

    Returns:
        A function that restores the SDK; calling it twice is safe.

    Raises:
        HookError: if openai-agents is not installed, has an unsupported version, lacks a function
            that this adapter replaces, or already runs on hookbus; or if the bus has another
            approver.
    """
    with patches_of("openai_agents", "openai-agents", SUPPORTED, untested, install) as patches:
        import_module("agents.run")  # and all that it runs
        words = "tool_call", "model_call", "model_stream", "agent_run", "agent_stream"
        results = Results(plain, packed, refused=lambda refused: refused)
        gate = Gate(patches, bus, results, words=words, say=say, approver=approver,
                    pause=BY_RUN_STATE, passes=exceptions(*PASSES))  # fmt: skip
        for hook in (hook_functions, hook_actions, hook_handoffs, hook_models, hook_runs):
            hook(gate)
        if approver is not None:
            hook_approvals(gate)
    return patches.restore
