"""LangChain and LangGraph: hooks around every call to a tool and a chat model.

`tool_call` (sender: the `BaseTool`) covers every `invoke`, `ainvoke`, `run` and `arun` of a tool,
by an agent, a graph or a program. `model_call` (sender: the `BaseChatModel`) covers every request
of a chat model, streamed or not, and `model_stream` gets the parts of a streamed answer. Callbacks
for an answer, such as a graph's stream, are delayed until the guards have returned.

If a model requested the call, a blocked call returns a `ToolMessage` with status error. Otherwise,
it raises `HookBlocked`. Middleware, `with_retry`, `with_fallbacks` and retry policies of nodes do
not retry a blocked call or send it to another model, unless they list `HookBlocked` explicitly.

While the `approver` decides, the graph is interrupted: `interrupt` shows the request, and
`Command(resume={"id": ..., "approved": True})` answers it.
"""

from __future__ import annotations

from typing import Final

from . import _langchain_tools as tools
from ._langchain_middleware import call_model_with, call_model_with_async
from ._langchain_models import hook_models
from ._langchain_retries import refuse_once
from ._patches import Between
from .kit import Adapter

SUPPORTED: Final = Between("1.6.0", "1.8.4")
"""Versions of langchain-core, which contains the tools of LangChain and LangGraph."""

_ADAPTER: Final = Adapter(
    "langchain-core", tested=SUPPORTED, **tools.RESULTS._asdict(),
    sample="hookbus.adapters._seams.langchain",
)  # fmt: skip
_ADAPTER.words("model_call", "model_stream")
_ADAPTER.pauses("langgraph.errors:GraphBubbleUp")
_ADAPTER.asks(tools.BY_INTERRUPT)

_TOOL: Final = "langchain_core.tools:BaseTool"
_ADAPTER.tool(f"{_TOOL}.ainvoke", tools.read_input)
_ADAPTER.tool(f"{_TOOL}.run", tools.read_tool_input, layer=1)
_ADAPTER.tool(f"{_TOOL}.arun", tools.read_tool_input, layer=1)
_NODE: Final = "langgraph.prebuilt.tool_node:ToolNode"
for _name, _replacement in (
    ("_inject_tool_args", tools.inject), ("_execute_tool_sync", tools.call_missing),
    ("_execute_tool_async", tools.call_missing_async),
):  # fmt: skip
    _ADAPTER.wrap(f"{_NODE}.{_name}", if_installed=True)(_replacement)
_ADAPTER.wrap("langchain.agents.structured_output:OutputToolBinding.parse", if_installed=True)(
    tools.put_out
)
_ADAPTER.also(lambda gate: hook_models(gate.vocabulary))
_MIDDLEWARE: Final = "langchain.agents.middleware:AgentMiddleware"
_ADAPTER.wrap(f"{_MIDDLEWARE}.wrap_model_call", if_installed=True)(call_model_with)
_ADAPTER.wrap(f"{_MIDDLEWARE}.awrap_model_call", if_installed=True)(call_model_with_async)
_ADAPTER.also(lambda gate: refuse_once(gate.patches))

install = _ADAPTER.install
