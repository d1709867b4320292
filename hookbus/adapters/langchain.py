"""LangChain and LangGraph: hooks around every call of a tool and of a chat model."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hookbus import Bus, HookBlocked, default_bus

from ._langchain_middleware import pass_refusals
from ._langchain_models import hook_models
from ._langchain_retries import refuse_once
from ._langchain_tools import BY_INTERRUPT, RESULTS, hook_tools
from ._newer import Untested, patches_of
from ._patches import Between, Uninstall, exceptions, named_options
from ._tools import Gate
from ._vocabulary import refusal

if TYPE_CHECKING:
    from hookbus.approvals import Store

SUPPORTED: Final = Between("1.6.0", "1.8.4")
"""Versions of langchain-core, which has the tools of LangChain and LangGraph."""

PASSES: Final = ("langgraph.errors:GraphBubbleUp",)
"""Exceptions that hand control back to the framework; they are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools and chat models of LangChain, existing and future ones.

    `tool_call` (sender: the `BaseTool`) is every `invoke`, `ainvoke`, `run` and `arun` of a tool,
    by an agent, a graph or a program. `model_call` (sender: the `BaseChatModel`) is every request
    of a chat model, whole or streamed. `model_stream` has the parts of a streamed answer. Callbacks
    about an answer, such as the stream of a graph, run after guards have checked it.

    A blocked call gives a `ToolMessage` with status error where a model waits for one, and raises
    `HookBlocked` elsewhere. Middleware, `with_retry`, `with_fallbacks` and retry policies of nodes
    do not repeat it or try another model, unless they name `HookBlocked` themselves.

    Args:
        bus: the bus whose signals are emitted.
        say: returns the text of a refused call from its `HookBlocked`; a model reads it.
        approver: a store for approvals, while the graph is interrupted: `interrupt` shows the
            request, and `Command(resume={"id": ..., "approved": True})` answers it.
        untested: what to do with a release newer than those tested: `"check"` verifies what the
            adapter replaces and calls a tool on a private bus; `"refuse"` raises.

    Returns:
        A function that restores LangChain; calling it twice is safe.

    Raises:
        HookError: if langchain-core is not installed, has an unsupported version, or already runs
            on hookbus; or if the bus has another approver.
    """
    with patches_of("langchain", "langchain-core", SUPPORTED, untested, install) as patches:
        base = import_module("langchain_core.tools").BaseTool
        import_module("langchain_core.tools.structured")
        words = "tool_call", "model_call", "model_stream"
        gate = Gate(patches, bus, RESULTS, words=words, say=say, approver=approver,
                    pause=BY_INTERRUPT, passes=exceptions(*PASSES))  # fmt: skip
        hook_tools(gate, base)
        hook_models(gate.vocabulary)
        pass_refusals(patches)
        refuse_once(patches)
    return patches.restore
