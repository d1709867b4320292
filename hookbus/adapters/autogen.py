"""AutoGen (core and AgentChat): hooks around every call to a tool and a chat model.

`tool_call` (sender: the `BaseTool`; or a `Workbench` whose tools are elsewhere, such as on an MCP
server) covers every call to a tool, by an agent, a team, another agent's tool or a program. For a
blocked call, a workbench returns a `ToolResult` that is marked as an error; `run_json` raises
`HookBlocked`. A blocked hand-off does not happen. The model that requested the hand-off reads the
reason. If a guard checks the result, the parts of a streaming tool are held back until the tool has
finished. `model_call` and `model_stream` (sender: the `ChatCompletionClient`) cover the requests of
a chat model.

The agents of autogen-ext that call tools without a workbench (`OpenAIAssistantAgent` and
`AzureAIAgent`) end their run with `HookBlocked`. Not covered: tools that a model provider runs, and
code that a `CodeExecutorAgent` runs but its model did not write.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from hookbus import HookBlocked, HookError

from ._arguments import arguments_of, text_of
from ._cancelled import follow, stop_if_cancelled
from ._patches import Between
from .kit import Adapter, Gate, Refusal, ToolCall, kind_by_class, shown_as

SUPPORTED: Final = Between("0.7.1", "0.7.5")
"""Versions of autogen-core. The versions of autogen-agentchat are the same."""


# -- results ---------------------------------------------------------------------------------------


def _shown(raw: Any) -> Any:
    if isinstance(raw, import_module("autogen_core.tools").ToolResult):
        return raw.to_text()
    if isinstance(raw, list):
        return [_shown(each) for each in raw]
    return shown_as.pydantic.shown(raw)


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if call.context is not None:
        return _result(call, value, is_error=raw is not None and raw.is_error)
    if call.kind == "agent" and isinstance(value, str):
        messages = import_module("autogen_agentchat.messages")
        text = messages.TextMessage(content=value, source=call.name)
        return import_module("autogen_agentchat.base").TaskResult(messages=[text])
    return shown_as.pydantic.packed(call, raw, value)


def _result(call: ToolCall, value: Any, *, is_error: bool) -> Any:
    tools = import_module("autogen_core.tools")
    if isinstance(value, tools.ToolResult):
        return value
    text = text_of(value)
    content = tools.TextResultContent(content=text)
    return tools.ToolResult(name=call.name, result=[content], is_error=is_error)


def _refused(refused: Refusal) -> Any:
    if refused.call.context is None:  # no workbench reports it to a model
        raise refused.blocked
    return _result(refused.call, refused.text, is_error=True)


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "autogen-core", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.autogen",
)  # fmt: skip
_ADAPTER.pauses("autogen_agentchat.base._termination:TerminatedException")


def _worked(
    stock: Any, bench: Any, name: str, arguments: Any = None, cancellation_token: Any = None,
    call_id: str | None = None,
) -> Any:  # fmt: skip
    given, repack = arguments_of(arguments)
    tool = _tool_of(bench, name)
    static = import_module("autogen_core.tools").StaticWorkbench
    kind = _kind(bench if tool is None else tool)
    if tool is None and isinstance(bench, static):
        kind = "unknown"
    call = ToolCall(name, given, call_id, kind, bench if tool is None else tool, context=bench)
    return call, _body(stock, (bench, name), repack, cancellation_token, call_id)


def _run(
    stock: Any, tool: Any, args: Any, cancellation_token: Any, call_id: str | None = None
) -> Any:
    given, repack = arguments_of(args)
    call = ToolCall(tool.name, given, call_id, _kind(tool), tool)
    return call, _body(stock, (tool,), repack, cancellation_token, call_id)


def _body(stock: Any, before: tuple[Any, ...], repack: Any, *after: Any) -> Callable[..., Any]:
    def body(arguments: dict[str, Any]) -> Any:
        try:
            stop_if_cancelled()
        except CancelledError as error:  # after one from a tool, AutoGen would wait forever
            raise HookError(str(error)) from None
        return stock(*before, repack(arguments), *after)

    return body


def _tool_of(bench: Any, name: str) -> Any:
    """Return the tool object that a workbench will call, or None if the tool is elsewhere."""
    name = getattr(bench, "_override_name_to_original", {}).get(name, name)
    if not isinstance(bench, import_module("autogen_core.tools").StaticWorkbench):
        return None
    return next((tool for tool in bench._tools if tool.name == name), None)


_kind_by_class: Final = kind_by_class({
    "autogen_ext.tools.mcp.*": "mcp", "autogen_agentchat.tools._task_runner_tool.*": "agent"
})  # fmt: skip


def _kind(tool: Any) -> str:
    function = getattr(getattr(tool, "_func", None), "__qualname__", None)
    is_handoff = function == "Handoff.handoff_tool.<locals>._handoff_tool"
    return "handoff" if is_handoff else _kind_by_class(tool)


_ADAPTER.tool("autogen_core.tools:Workbench.call_tool", _worked)
_ADAPTER.tool("autogen_core.tools:BaseTool.run_json", _run, layer=1)
_ADAPTER.tool(
    "autogen_core.tools._workbench:StreamWorkbench.call_tool_stream", _worked, stream=True
)
_ADAPTER.tool("autogen_core.tools:BaseStreamTool.run_json_stream", _run, layer=1, stream=True)


# -- models: texts, and what they are as a whole, last ---------------------------------------------


def _whole(items: list[Any]) -> Any:
    if isinstance(items[-1], str):
        raise HookError("the stream of the model ended without an answer that guards can check")
    return items[-1]


_CLIENT: Final = "autogen_core.models:ChatCompletionClient"
_ADAPTER.model(f"{_CLIENT}.create", is_async=True).stream(
    f"{_CLIENT}.create_stream", whole=_whole, items=lambda answer: [answer], is_async=True
)


# -- hand-offs, and runs that are cancelled --------------------------------------------------------

_AGENT: Final = "autogen_agentchat.agents:AssistantAgent"


@_ADAPTER.also
def _follow_runs(gate: Gate) -> None:
    """Prevent new calls in a cancelled run, because AutoGen cancels running tools only by its own
    `CancellationToken`."""
    try:
        agents = import_module("autogen_agentchat.agents")
    except ModuleNotFoundError:
        return  # autogen-core on its own has none
    teams = import_module("autogen_agentchat.teams")
    follow(gate.patches, agents.BaseChatAgent, "run", "run_stream")
    follow(gate.patches, teams.BaseGroupChat, "run", "run_stream")


@_ADAPTER.wrap(f"{_AGENT}._execute_tool_call", if_installed=True)
async def _execute_tool_call(
    gate: Gate, stock: Any, tool_call: Any, *args: Any, **kwargs: Any
) -> Any:
    """Convert a denial to a result that the model reads, because a run never ends if a tool raises
    an exception."""
    try:
        found = await stock(tool_call, *args, **kwargs)
        text = f"Error: tool '{tool_call.name}' not found in any workbench"
        if found[1].is_error and found[1].content == text:
            await _report_unknown(gate, tool_call, found)
        return found
    except HookError as error:
        text = gate.say(error) if isinstance(error, HookBlocked) else f"Error: {error}"
        options = {"call_id": tool_call.id, "name": tool_call.name, "is_error": True}
        result = import_module("autogen_core.models").FunctionExecutionResult
        return tool_call, result(content=text, **options)


async def _report_unknown(gate: Gate, tool_call: Any, found: Any) -> None:
    """Run the hooks for a call to a tool that no workbench of an agent has, and raise a denial."""

    async def body(arguments: dict[str, Any]) -> Any:
        return found[1].content

    arguments, _ = arguments_of(tool_call.arguments)
    await gate.run_async(ToolCall(tool_call.name, arguments, tool_call.id, "unknown"), body)


@_ADAPTER.wrap(f"{_AGENT}._check_and_handle_handoff", if_installed=True)
@_ADAPTER.wrap(f"{_AGENT}._summarize_tool_use", if_installed=True)
def _hand_over(
    gate: Gate, stock: Any, *, executed_calls_and_results: Any, handoffs: Any, **kwargs: Any
) -> Any:
    """Hand over only if no guard denied the hand-off. AutoGen itself would always follow the
    model's request."""
    happened = {call.name for call, result in executed_calls_and_results if not result.is_error}
    return stock(
        executed_calls_and_results=executed_calls_and_results,
        handoffs={name: each for name, each in handoffs.items() if name in happened},
        **kwargs,
    )


install = _ADAPTER.install
