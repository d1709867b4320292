"""`install`: what of the SDK is replaced, and how it is put back."""

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
"""What hands control back to the SDK, and is no failure of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Let the agents of the OpenAI Agents SDK run on hookbus, those there are and those to come.

    `tool_call` (sender: the tool) is every call of a function tool, of a tool of a local MCP
    server, of an agent that is a tool, of a custom, shell, local shell, patch or computer tool, and
    every hand-off (sender: the `Handoff`). A refused call is told to the model, and a refused
    hand-off does not happen. A refusal is no run's answer: where `tool_use_behavior` would stop on
    it, the model reads it and goes on. A patch with several operations is a call of each.
    `model_call` and `model_stream` (sender: the `Model`) are those of every model; `agent_run` is
    `Runner.run` and `run_sync`, and its result the `RunResult`; `agent_stream` is a streamed run as
    a whole, and its parts are those of `model_stream`. What is refused there is a `HookBlocked`.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        approver: a store that the bus asks for a yes, while the run is interrupted: its
            `interruptions` are approved or rejected in the `RunState` that goes on with it. Local
            shell and computer tools, patches of several files and hand-offs are blocked meanwhile.
        untested: what to do on a release that is newer than those tested: `"check"` looks for what
            is replaced and calls a tool on a private bus, `"refuse"` raises.

    Returns:
        A function that puts the SDK back as it was; twice is once.

    Raises:
        HookError: if openai-agents is not installed, does not fit, has a function no more
            that this adapter looks for, or runs on hookbus already; or if the bus asks somebody
            else.
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
