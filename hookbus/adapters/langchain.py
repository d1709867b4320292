"""LangChain and LangGraph: every call of a tool, and of a chat model, through hooks of hookbus."""

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
"""What hands control back to the framework, and is no failure of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Let the tools and chat models of LangChain run on hookbus, those there are and those to come.

    `tool_call` (sender: the `BaseTool`) is every `invoke`, `ainvoke`, `run` and `arun` of a tool,
    by an agent, a graph or a program; `model_call` (sender: the `BaseChatModel`) is every request
    of a chat model, whole or streamed, and `model_stream` has the parts of a streamed one. What
    callbacks are told of an answer, such as what a graph streams, waits until it was judged. A
    refused call is a `ToolMessage` with status error where a model waits for one, and else a
    `HookBlocked`, which no middleware, `with_retry`, `with_fallbacks` or retry policy of a node
    repeats or puts to another model, unless it names `HookBlocked` itself.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        approver: a store that the bus asks for a yes, while the graph is interrupted: `interrupt`
            shows the request, and `Command(resume={"id": ..., "approved": True})` answers it.
        untested: what to do on a release that is newer than those tested: `"check"` looks for what
            is replaced and calls a tool on a private bus, `"refuse"` raises.

    Returns:
        A function that puts LangChain back as it was; twice is once.

    Raises:
        HookError: if langchain-core is not installed, does not fit, or runs on hookbus
            already; or if the bus asks somebody else.
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
