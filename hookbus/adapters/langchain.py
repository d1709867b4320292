"""LangChain and LangGraph: every call of a tool, and of a chat model, through hooks of hookbus."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._langchain_middleware import pass_refusals
from ._langchain_models import hook_models
from ._patches import Between, Patches, Uninstall
from ._pauses import Pause, answered, shown
from ._tools import Gate, Refusal, Results, ToolCall
from ._vocabulary import refusal

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request, Store

SUPPORTED: Final = Between("1.6.0", "1.7.2")
"""Versions of langchain-core, which has the tools of LangChain and LangGraph."""


def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None,
) -> Uninstall:  # fmt: skip
    """Let the tools and chat models of LangChain run on hookbus, those there are and those to come.

    `tool_call` (sender: the `BaseTool`) is every `invoke`, `ainvoke`, `run` and `arun` of a tool,
    by an agent, a graph or a program; `model_call` (sender: the `BaseChatModel`) is every request
    of a chat model, whole or streamed, and `model_stream` has the parts of a streamed one. What
    callbacks are told of an answer, such as what a graph streams, waits until it was judged. A
    refused call is a `ToolMessage` with status error where a model waits for one, and else a
    `HookBlocked`, which no middleware of an agent retries or puts to another model.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        approver: a store that the bus asks for a yes, while the graph is interrupted: `interrupt`
            shows the request, and `Command(resume={"id": ..., "approved": True})` answers it.

    Returns:
        A function that puts LangChain back as it was; twice is once.

    Raises:
        HookError: if langchain-core is not installed, is another version, or runs on hookbus
            already; or if the bus asks somebody else.
    """
    with Patches("langchain-core", SUPPORTED) as patches:
        base = import_module("langchain_core.tools").BaseTool
        import_module("langchain_core.tools.structured")
        results = Results(_shown, _packed, _refused)
        words = "tool_call", "model_call", "model_stream"
        gate = Gate(patches, bus, results, words=words, say=say, approver=approver,
                    pause=Pause(lambda call: call.call_id, _interrupted))  # fmt: skip
        gate.seam(base, "ainvoke", _invoked)
        gate.seam(base, "run", _run, layer=1)
        gate.seam(base, "arun", _run, layer=1)
        hook_models(gate.vocabulary)
        pass_refusals(patches)
    return patches.restore


# -- tools -----------------------------------------------------------------------------------------


def _invoked(stock: Any, tool: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    is_call = isinstance(input, dict) and input.get("type") == "tool_call"
    given, call_id = (input["args"], input.get("id")) if is_call else (input, None)
    call, repack = _read(tool, given, call_id)

    def body(arguments: dict[str, Any]) -> Any:
        changed = repack(arguments)
        return stock(tool, {**input, "args": changed} if is_call else changed, *args, **kwargs)

    return call, body


def _run(
    stock: Any, tool: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    call, repack = _read(tool, tool_input, tool_call_id)
    return call, lambda arguments: stock(
        tool, repack(arguments), *args, tool_call_id=tool_call_id, **kwargs
    )


def _read(tool: Any, given: Any, call_id: str | None) -> tuple[ToolCall, Callable[[Any], Any]]:
    """Return the call, and what makes of its arguments what LangChain was given: perhaps a text."""
    if isinstance(given, dict):
        return ToolCall(tool.name, dict(given), call_id, tool=tool), lambda arguments: arguments
    name = next(iter(tool.args), "input")
    call = ToolCall(tool.name, {name: given}, call_id, tool=tool)
    return call, lambda arguments: arguments[name] if [*arguments] == [name] else arguments


def _message() -> Any:
    return import_module("langchain_core.messages").ToolMessage


def _shown(raw: Any) -> Any:
    return raw.content if isinstance(raw, _message()) else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(raw, _message()):
        return raw.model_copy(update={"content": value, "artifact": None})
    if call.call_id is None or isinstance(value, _message()):
        return value
    return _message()(value, tool_call_id=call.call_id, name=call.name)


def _refused(refused: Refusal) -> Any:
    call = refused.call
    if call.call_id is None:  # a program waits
        raise refused.blocked
    return _message()(refused.text, tool_call_id=call.call_id, name=call.name, status="error")


def _interrupted(call: ToolCall, request: Request, is_new: bool) -> Approved | Denied | None:
    """Return the answer that a graph was resumed with, or interrupt it."""
    try:
        interrupt = import_module("langgraph.types").interrupt
    except ImportError:
        return None
    while True:  # each value that it was resumed with; where there is no more, this raises
        try:
            value = interrupt(shown(request))
        except (RuntimeError, KeyError):  # no graph runs
            return None
        said = answered(value, request, by="whoever resumed the graph")
        if said is not None:
            return said
