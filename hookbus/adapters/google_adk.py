"""Google's Agent Development Kit: hooks around every call to a tool, a model and a runner.

`tool_call` (sender: the `BaseTool`) covers every `run_async` of a tool, by any agent, workflow or
program, after callbacks and plugins have changed the arguments. Transfers to another agent and
delegated tasks are also tool calls. `model_call` (sender: the `BaseLlm`) covers
`generate_content_async`, streamed or not; `model_stream` gets the parts of a streamed answer.
`agent_stream` (sender: the root agent) covers `Runner.run_async`. A blocked call returns `{"error":
...}`, which ADK treats as a failed tool. If a program calls a tool without an agent, it gets
`HookBlocked`.

Not covered: parts that a streaming tool of a live session yields, live models, code that a code
executor runs, and tools that Google runs. For such a streaming tool, guards run before the call,
and its result is a generator. A call fails if a receiver changes the arguments of a task for
another agent or of `finish_task`, because ADK reads these arguments from the model's message. A
`GoogleApiTool` calls a `RestApiTool`, which is also hooked.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module
from typing import Any, Final

from ._answers import ADK
from ._patches import Between
from ._streams import ask_in_parts_async
from ._unknown import call_of
from ._vocabulary import INSIDE, Once, Vocabulary
from .kit import Adapter, Gate, Refusal, ToolCall, kind_by_class

SUPPORTED: Final = Between("2.10.0", "2.13.0")
"""Versions of google-adk."""

_kind_by_class: Final = kind_by_class({
    "*.TransferToAgentTool": "handoff", "*.AgentTool": "agent", "*.McpTool": "mcp",
    "*.SetModelResponseTool": "output", "*.FinishTaskTool": "output",
})  # fmt: skip


# -- results ---------------------------------------------------------------------------------------


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    actions = getattr(call.context, "actions", None)
    if actions is not None and call.name == "set_model_response":
        actions.set_model_response = value  # the output, besides the tool's result
    return value


def _refused(refused: Refusal) -> Any:
    call = refused.call
    if call.call_id is None:  # a program waits
        raise refused.blocked
    actions = getattr(call.context, "actions", None)
    for name in ("transfer_to_agent", "set_model_response"):
        if getattr(actions, name, None) is not None:  # a denied result: the tool has already run
            setattr(actions, name, None)
    return {"error": refused.text}


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "google-adk", tested=SUPPORTED, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.google_adk",
)  # fmt: skip
_ADAPTER.words("tool_call", "model_call", "model_stream")
_ADAPTER.pauses("google.adk.workflow._errors:NodeInterruptedError")


def _run(stock: Any, tool: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
    agent = getattr(getattr(tool_context, "_invocation_context", None), "agent", None)
    call_id, kind = getattr(tool_context, "function_call_id", None), _kind(tool)
    added = _added(tool, args)
    given = {key: each for key, each in args.items() if key not in added}
    call = ToolCall(tool.name, given, call_id, kind, tool, agent, tool_context)

    async def body(arguments: dict[str, Any]) -> Any:
        if tool.name == "finish_task" and arguments != args:
            return _unchangeable(call)
        return await stock(tool, args={**arguments, **added}, tool_context=tool_context)

    return call, body


def _added(tool: Any, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that an override adds before it calls its parent's method, and that no
    model can write, such as a credential or a client. Receivers do not see these arguments."""
    outer = INSIDE.get()
    if getattr(getattr(outer, "call", None), "tool", None) is not tool:
        return {}
    asked, plain = getattr(outer, "arguments", {}), (str, int, float, list, dict)
    return {
        key: each for key, each in args.items() if key not in asked and not isinstance(each, plain)
    }


def _kind(tool: Any) -> str:
    return "handoff" if tool.name == "transfer_to_agent" else _kind_by_class(tool)


def _unchangeable(call: ToolCall) -> dict[str, Any]:
    """Return the error for changed arguments of a call that ADK runs with the model's own
    arguments."""
    return {"error": f"Error: the arguments of {call.name} cannot be changed"}


_ADAPTER.tool("google.adk.tools.base_tool:BaseTool.run_async", _run)


@_ADAPTER.wrap("google.adk.workflow._llm_agent_wrapper:_dispatch_task_fc")
async def _dispatch_task(gate: Gate, stock: Any, parent_agent: Any, fc: Any, ctx: Any) -> Any:
    """Hook the tasks that an agent delegates to another agent, which ADK runs without calling the
    tool."""
    tools = {getattr(tool, "name", None): tool for tool in parent_agent.tools}
    call = ToolCall(
        fc.name, dict(fc.args or {}), fc.id, "agent", tools.get(fc.name), parent_agent
    )

    async def body(arguments: dict[str, Any]) -> Any:
        if arguments != call.arguments:
            return _unchangeable(call)
        return await stock(parent_agent, fc, ctx)

    return await gate.run_async(call, body)


@_ADAPTER.also
def _pass_task_tools(gate: Gate) -> None:
    """Do not hook the tool of a delegated task, which does nothing, and is called only together
    with other tools."""
    marker = import_module("google.adk.tools.agent_tool")._TaskAgentTool
    gate.patches.replace(marker, "run_async", marker.run_async.__wrapped__)


_CALLER: Final = "google.adk.flows.llm_flows.tools._caller"


@_ADAPTER.wrap(f"{_CALLER}:_execute_single_prepared_call", optional=True)
async def _execute_prepared_call(
    gate: Gate, stock: Any, context: Any, prepared: Any, agent: Any, **options: Any
) -> Any:
    """Run the hooks for calls to tools that do not exist. Older releases raise an exception
    instead."""
    if prepared.tool_lookup_error is None:
        return await stock(context, prepared, agent, **options)
    asked = prepared.function_call
    call = call_of(asked.name, asked.args or {}, asked.id, prepared.tool, agent)
    event: list[Any] = []

    async def body(arguments: dict[str, Any]) -> Any:
        event.append(await stock(context, prepared, agent, **options))
        return _response_of(event[-1]).response

    found = await gate.run_async(call, body)
    if not event:
        make = import_module(_CALLER)._build_response_event
        return make(prepared.tool, found, prepared.tool_context, context)
    _response_of(event[-1]).response = found
    return event[-1]


def _response_of(event: Any) -> Any:
    return event.content.parts[0].function_response


# -- models and runs -------------------------------------------------------------------------------


class _Asked(Once):
    """A call to a model. An override's call to its parent's method counts as the same call."""

    def __init__(self, owner: type, stock: Any, model: Any, request: Any, stream: bool) -> None:
        body = self._items if stream else self._whole
        super().__init__(model, "generate_content_async", owner, body)
        self._stock, self._request, self._stream = stock, request, stream
        self.options = {"model": request.model, "config": request.config}
        self._raw: list[Any] = []

    def _items(self, messages: Any, options: dict[str, Any]) -> Any:
        request = self._request
        if messages is not request.contents or options is not self.options:
            request = request.model_copy(update={"contents": messages, **options})
        return self._stock(self.of, request, self._stream)

    async def _whole(self, messages: Any, options: dict[str, Any]) -> Any:
        async with aclosing(self._items(messages, options)) as items:
            self._raw = [item async for item in items]
        return self._raw[0] if len(self._raw) == 1 else self._raw

    async def answers(self, words: Vocabulary) -> AsyncGenerator[Any, None]:
        """Yield the parts of the answer to the hooked call for ADK."""
        called = self.of, self._request.contents, self.options, None
        if self._stream:
            async with aclosing(ask_in_parts_async(words, self, ADK, *called)) as items:
                async for item in items:
                    yield item
            return
        answer = await words.run_async("model_call", self, *called)
        for item in answer if isinstance(answer, list) else [answer]:
            yield item


@_ADAPTER.also
def _hook_models(gate: Gate) -> None:
    def generated(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def generate_content_async(model: Any, llm_request: Any, stream: bool = False) -> Any:
            asked = _Asked(owner, stock, model, llm_request, stream)
            if not gate.patches.is_live or asked.is_asked:
                return stock(model, llm_request, stream)
            return asked.answers(gate.vocabulary)

        return generate_content_async

    base = import_module("google.adk.models.base_llm").BaseLlm
    gate.patches.wrap(base, "generate_content_async", generated)


_ADAPTER.run(
    "google.adk.runners:Runner.run_async", agent="agent", input="new_message", stream=True
)

install = _ADAPTER.install
