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
"""Exceptions that return control to the framework and are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools and chat models of LangChain, both existing and future ones.

    `tool_call` (sender: the `BaseTool`) covers every `invoke`, `ainvoke`, `run` and `arun` of a
    tool, by an agent, a graph or a program. `model_call` (sender: the `BaseChatModel`) covers every
    request of a chat model, streamed or not, and `model_stream` gets the parts of a streamed
    answer. Callbacks for an answer, such as a graph's stream, are delayed until the guards have
    returned. If a model waits for the result, a blocked call returns a `ToolMessage` with status
    error. Otherwise it raises `HookBlocked`. Middleware, `with_retry`, `with_fallbacks` and retry
    policies of nodes do not retry a blocked call or send it to another model, unless they name
    `HookBlocked` explicitly.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: a store that the bus asks for approval while the graph is interrupted: `interrupt`
            shows the request, and `Command(resume={"id": ..., "approved": True})` answers it.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores LangChain. A second call does nothing.

    Raises:
        HookError: if langchain-core is not installed, is incompatible, or already runs on
            hookbus; or if the bus has another approver.
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
