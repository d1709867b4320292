"""AutoGen (core and AgentChat): hooks around every call of a tool and of a chat model."""

from __future__ import annotations

import functools
import json
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, HookError, default_bus

from ._cancelled import follow, stop_if_cancelled
from ._models import hook_models
from ._newer import Untested, patches_of
from ._patches import Between, Patches, Uninstall, exceptions, named_options
from ._streams import Forms
from ._tools import Gate, Refusal, Results, ToolCall
from ._vocabulary import refusal

SUPPORTED: Final = Between("0.7.1", "0.7.5")
"""Versions of autogen-core; autogen-agentchat has the same."""

PASSES: Final = ("autogen_agentchat.base._termination:TerminatedException",)
"""Exceptions that return control to the framework and are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools and chat models of AutoGen, both existing and future ones.

    `tool_call` (sender: the `BaseTool`; or a `Workbench` whose tools are elsewhere, such as on an
    MCP server) covers every call of a tool, by an agent, a team, another agent's tool or a program.
    For a blocked call, a workbench returns a `ToolResult` that is marked as an error; `run_json`
    raises `HookBlocked`. A blocked hand-off does not happen, and the model of the agent that
    requested it reads the reason. If a guard checks the result, the parts of a streaming tool are
    held back until it ends. `model_call` and `model_stream` (sender: the `ChatCompletionClient`)
    cover the requests of a chat model.

    Agents of autogen-ext that call tools without a workbench, `OpenAIAssistantAgent` and
    `AzureAIAgent`, end their run with `HookBlocked`. Not covered: tools that a model provider runs,
    and code for a `CodeExecutorAgent` that its model did not write.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores AutoGen. A second call does nothing.

    Raises:
        HookError: if autogen-core is not installed, is incompatible, or already runs on
            hookbus.
    """
    with patches_of("autogen", "autogen-core", SUPPORTED, untested, install) as patches:
        tools = import_module("autogen_core.tools")
        client = import_module("autogen_core.models").ChatCompletionClient
        words = "tool_call", "model_call", "model_stream"
        gate = Gate(patches, bus, Results(_shown, _packed, _refused), words=words, say=say,
                    passes=exceptions(*PASSES))  # fmt: skip
        gate.seam(tools.Workbench, "call_tool", _worked)
        gate.seam(tools.BaseTool, "run_json", _run, layer=1)
        streams = functools.partial(_streamed, gate, _worked, 0)
        bench = import_module("autogen_core.tools._workbench")
        patches.wrap(patches.look_for(bench, "StreamWorkbench"), "call_tool_stream", streams)
        streams = functools.partial(_streamed, gate, _run, 1)
        patches.wrap(tools.BaseStreamTool, "run_json_stream", streams)
        asks = {"create": "model_call", "create_stream": "model_stream"}
        hook_models(gate.vocabulary, client, asks, Forms(_created, _only), is_async=True)
        _hook_agents(gate, say)
    return patches.restore


# -- tools -----------------------------------------------------------------------------------------


def _worked(
    stock: Any, bench: Any, name: str, arguments: Any = None, cancellation_token: Any = None,
    call_id: str | None = None,
) -> Any:  # fmt: skip
    given, repack = _read(arguments)
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
    given, repack = _read(args)
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


def _read(arguments: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """Return arguments as a dict, and a function that undoes that: a model may not have sent an
    object."""
    if arguments is None or isinstance(arguments, Mapping):
        return dict(arguments or ()), lambda changed: changed
    return {
        "input": arguments
    }, lambda changed: changed["input"] if [*changed] == ["input"] else changed


def _tool_of(bench: Any, name: str) -> Any:
    """Return the tool that a workbench will call, if the workbench itself has it."""
    name = getattr(bench, "_override_name_to_original", {}).get(name, name)
    if not isinstance(bench, import_module("autogen_core.tools").StaticWorkbench):
        return None
    return next((tool for tool in bench._tools if tool.name == name), None)


def _kind(tool: Any) -> str:
    function = getattr(getattr(tool, "_func", None), "__qualname__", None)
    if function == "Handoff.handoff_tool.<locals>._handoff_tool":
        return "handoff"
    homes = [cls.__module__ for cls in type(tool).__mro__]
    if any(home.startswith("autogen_ext.tools.mcp") for home in homes):
        return "mcp"
    return "agent" if "autogen_agentchat.tools._task_runner_tool" in homes else "function"


def _streamed(gate: Gate, read: Any, layer: int, owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def seam(tool: Any, /, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        items: list[Any] = []
        call, begin = read(stock, tool, *args, **kwargs)

        async def body(arguments: dict[str, Any]) -> Any:
            items.clear()
            async with aclosing(begin(arguments)) as stream:
                async for item in stream:
                    items.append(item)
            return items[-1] if items else None

        depth = layer * 1000 + type(tool).__mro__.index(owner)
        result = await gate.run_async(call, body, depth)
        if items and result is items[-1]:
            for item in items[:-1]:
                yield item
        yield result

    found: Any = seam
    found.__hookable__ = gate.vocabulary.hookable("tool_call", is_async=True)
    return found


# -- results ---------------------------------------------------------------------------------------


def _shown(raw: Any) -> Any:
    if isinstance(raw, import_module("autogen_core.tools").ToolResult):
        return raw.to_text()
    if isinstance(raw, list):
        return [_shown(each) for each in raw]
    return raw.model_dump(mode="json") if hasattr(raw, "model_dump") else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if call.context is not None:
        return _result(call, value, is_error=raw is not None and raw.is_error)
    if call.kind == "agent" and isinstance(value, str):
        messages = import_module("autogen_agentchat.messages")
        text = messages.TextMessage(content=value, source=call.name)
        return import_module("autogen_agentchat.base").TaskResult(messages=[text])
    if hasattr(raw, "model_validate") and isinstance(value, dict):
        return type(raw).model_validate(value)
    return value


def _result(call: ToolCall, value: Any, *, is_error: bool) -> Any:
    tools = import_module("autogen_core.tools")
    if isinstance(value, tools.ToolResult):
        return value
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    content = tools.TextResultContent(content=text)
    return tools.ToolResult(name=call.name, result=[content], is_error=is_error)


def _refused(refused: Refusal) -> Any:
    if refused.call.context is None:  # no workbench reports it to a model
        raise refused.blocked
    return _result(refused.call, refused.text, is_error=True)


# -- models: texts, and what they are as a whole, last ---------------------------------------------


def _created(items: list[Any]) -> Any:
    if isinstance(items[-1], str):
        raise HookError("the stream of the model ended without an answer that guards can check")
    return items[-1]


def _only(answer: Any) -> list[Any]:
    return [answer]


# -- hand-offs, and runs that are cancelled --------------------------------------------------------


def _hook_agents(gate: Gate, say: Callable[[HookBlocked], str]) -> None:
    """Make a blocked hand-off only a result that its model reads, and start nothing in a run that
    was cancelled.

    AutoGen hands over when a model requests it, whatever the tool of that name returned; and a run
    in which such a tool raises never ends. It leaves the tools of a cancelled run running, except
    for its own `CancellationToken`.
    """
    patches = gate.patches
    try:
        agents = import_module("autogen_agentchat.agents")
    except ModuleNotFoundError:
        return  # autogen-core on its own has none
    teams = import_module("autogen_agentchat.teams")
    follow(patches, agents.BaseChatAgent, "run", "run_stream")
    follow(patches, teams.BaseGroupChat, "run", "run_stream")
    agent = agents.AssistantAgent
    told = import_module("autogen_core.models").FunctionExecutionResult
    execute = patches.look_for(agent, "_execute_tool_call")

    @functools.wraps(execute)
    async def _execute_tool_call(tool_call: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            found = await execute(tool_call, *args, **kwargs)
            text = f"Error: tool '{tool_call.name}' not found in any workbench"
            if found[1].is_error and found[1].content == text:
                await _report_unknown(gate, tool_call, found)
            return found
        except HookError as error:
            text = say(error) if isinstance(error, HookBlocked) else f"Error: {error}"
            options = {"call_id": tool_call.id, "name": tool_call.name, "is_error": True}
            return tool_call, told(content=text, **options)

    patches.replace(agent, "_execute_tool_call", staticmethod(_execute_tool_call))
    for name in ("_check_and_handle_handoff", "_summarize_tool_use"):
        patches.replace(agent, name, staticmethod(_with_those_that_happened(agent, name, patches)))


async def _report_unknown(gate: Gate, tool_call: Any, found: Any) -> None:
    """Make hooks run for a call of a tool that no workbench of an agent has; raise a denial."""

    async def body(arguments: dict[str, Any]) -> Any:
        return found[1].content

    try:
        given = json.loads(tool_call.arguments)
    except ValueError:
        given = tool_call.arguments
    arguments, _ = _read(given)
    await gate.run_async(ToolCall(tool_call.name, arguments, tool_call.id, "unknown"), body)


def _with_those_that_happened(agent: Any, name: str, patches: Patches) -> Any:
    stock = patches.look_for(agent, name)

    @functools.wraps(stock)
    def hand_over(*, executed_calls_and_results: Any, handoffs: Any, **kwargs: Any) -> Any:
        happened = {call.name for call, result in executed_calls_and_results if not result.is_error}
        return stock(
            executed_calls_and_results=executed_calls_and_results,
            handoffs={name: each for name, each in handoffs.items() if name in happened},
            **kwargs,
        )

    return hand_over
