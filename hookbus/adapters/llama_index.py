"""LlamaIndex: hooks around every call to a tool and a model.

`tool_call` (sender: the tool) covers every `call` and `acall` of a tool and every call to the tool
itself, by an agent, a workflow, a model's `predict_and_call` or a program. The `arguments` are the
arguments that the model generated, together with the tool's `partial_params`, before defaults are
filled in. A hand-off is also a tool call (`kind="handoff"`). `model_call` (sender: the LLM) covers
every chat or completion call, streamed or not; `model_stream` gets the parts of a streamed answer.
If a receiver may change or block an answer, LlamaIndex's own events, spans and callbacks for the
answer are delayed until the receiver has returned.

A blocked call returns a `ToolOutput` that is marked as an error, even if a program made the call.
The agent's model reads the text of this output, and the run continues. If the tool has
`return_direct=True`, this text does not become the agent's answer. A blocked hand-off does not
happen.

Not covered: functions that the code of a `CodeActAgent` calls, because its executor gets functions
instead of tools. The code itself is an argument of the tool `execute`. A tool that waits for an
event runs again when the event arrives. Its hooks also run again.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, Final

from ._arguments import named
from ._injected import is_written
from ._llama_index_events import Reports, keep_reports
from ._patches import Between
from ._unknown import call_of, give
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("0.14.15", "0.14.25")
"""Versions of llama-index-core."""


# -- results ---------------------------------------------------------------------------------------


@functools.cache
def _output() -> Any:
    return import_module("llama_index.core.tools.types").ToolOutput


def _shown(raw: Any) -> Any:
    """Return the data of a result if the text is just the text of this data, and otherwise the
    text."""
    if not isinstance(raw, _output()):
        return raw
    is_data = isinstance(raw.raw_output, (dict, list, int, float))
    return raw.raw_output if is_data and str(raw.raw_output) == raw.content else raw.content


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(value, _output()):
        return value
    is_error = isinstance(raw, _output()) and raw.is_error
    return _told(call, str(value), value, is_error=is_error)


def _refused(refused: Refusal) -> Any:
    text, blocked = refused.text, refused.blocked
    return _told(refused.call, text, text, is_error=True, exception=blocked)


def _told(call: ToolCall, text: str, value: Any, **error: Any) -> Any:
    given = {"args": (), "kwargs": call.arguments}
    return _output()(call.name, content=text, raw_input=given, raw_output=value, **error)


# -- tools -----------------------------------------------------------------------------------------


_ADAPTER: Final = Adapter(
    "llama-index-core", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.llama_index",
)  # fmt: skip
_ADAPTER.pauses("workflows.runtime.types.results:WaitingForEvent")


def _called(stock: Any, tool: Any, *args: Any, **kwargs: Any) -> Any:
    context = getattr(tool, "ctx_param_name", None)
    own = {context: kwargs.pop(context)} if context in kwargs else {}
    # LlamaIndex restores the objects passed when the tool was made; no model can write one.
    bound = getattr(tool, "partial_params", {})
    given = {**{name: each for name, each in bound.items() if is_written(each)}, **kwargs}
    arguments, spread = named(_names(tool) if args else (), args, given)

    def body(arguments: dict[str, Any]) -> Any:
        by_place, by_name = spread(arguments)
        return stock(tool, *by_place, **by_name, **own)

    name = tool.metadata.get_name()
    kind = "handoff" if name == "handoff" else "function"
    return ToolCall(name, arguments, None, kind, tool), body


def _names(tool: Any) -> list[str]:
    return [*tool.metadata.get_parameters_dict().get("properties", ())]


_TYPES: Final = "llama_index.core.tools.types"
_ADAPTER.tool(f"{_TYPES}:BaseTool.__call__", _called)
_ADAPTER.tool(f"{_TYPES}:AsyncBaseTool.acall", _called, layer=1)
_ADAPTER.tool(f"{_TYPES}:AsyncBaseTool.call", _called, layer=2)


@_ADAPTER.also
def _pass_adapted_tools(gate: Gate) -> None:
    """Do not hook adapted tools, because they call the original tool, which is the sender."""
    adapted = import_module(_TYPES).BaseToolAsyncAdapter
    for name in ("call", "acall"):
        gate.patches.replace(adapted, name, vars(adapted)[name].__wrapped__)


@_ADAPTER.wrap("llama_index.core.agent.workflow:BaseWorkflowAgent.call_tool")
@_ADAPTER.wrap("llama_index.core.agent.workflow:AgentWorkflow.call_tool")
async def _call_tool(gate: Gate, stock: Any, flow: Any, ctx: Any, ev: Any) -> Any:
    """Run the hooks for calls to tools that do not exist."""
    found = await stock(flow, ctx, ev)
    output = getattr(found, "tool_output", None)
    text = f"Tool {ev.tool_name} not found. Please select a tool that is available."
    if output is None or not output.is_error or output.content != text:
        return found
    call = call_of(ev.tool_name, ev.tool_kwargs, ev.tool_id, flow, None)
    found.tool_output = await gate.run_async(call, lambda _: give(output))
    return found


# -- models: each part of an answer has all of it so far -------------------------------------------


def _last(items: list[Any]) -> Any:
    return items[-1]


def _of_a_chat(answer: Any) -> list[Any]:
    llms = import_module("llama_index.core.llms")
    if isinstance(answer, str):
        message = llms.ChatMessage(role="assistant", content=answer)
        answer = llms.ChatResponse(message=message)
    return [answer.model_copy(update={"delta": answer.message.content or ""})]


def _of_a_text(answer: Any) -> list[Any]:
    if isinstance(answer, str):
        answer = import_module("llama_index.core.llms").CompletionResponse(text=answer)
    return [answer.model_copy(update={"delta": answer.text})]


_LLM: Final = "llama_index.core.base.llms.base:BaseLLM"
_ADAPTER.also(lambda gate: keep_reports(gate.patches))
for _name, _items in (("chat", _of_a_chat), ("complete", _of_a_text)):
    _ADAPTER.model(f"{_LLM}.{_name}", f"{_LLM}.a{_name}", aside=Reports).stream(
        f"{_LLM}.stream_{_name}", f"{_LLM}.astream_{_name}", whole=_last, items=_items
    )

install = _ADAPTER.install
