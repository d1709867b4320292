"""CrewAI: hooks around every call to a tool and a model.

`tool_call` (sender: the `BaseTool`, or a `CrewStructuredTool` that was not made from one) covers
every `run`, `arun`, `invoke` and `ainvoke` of a tool: by an agent, with native tool calls or with
actions written as text, by a program, or by `LLM.call`. The `name` is the tool's name for models,
such as `delegate_work_to_coworker` (`kind="agent"`). The `arguments` are the arguments that the
model wrote, before the tool's schema fills in defaults. `model_call` covers `call` and `acall` of a
`BaseLLM`. If a receiver may change or block an answer, CrewAI's own events for it are delayed until
the receiver has returned.

A blocked call returns CrewAI's `ToolFailure`, even if a program made the call. The agent's model
reads its text. CrewAI does not retry the call, and does not use the text as the answer if the tool
has `result_as_answer`. If the agent's `tool_failure_policy` is `RAISE`, the agent raises an
exception. CrewAI runs tools in threads. A cancelled run still waits for a running guard, but then
does not run the tool.

Not covered: results from CrewAI's cache, because no tool is called (`Crew(cache=False)` turns the
cache off); and functions, other than tools, that a program passes to `LLM.call`.
"""

from __future__ import annotations

import functools
import json
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from hookbus import HookBlocked

from ._arguments import named
from ._cancelled import follow
from ._crewai_events import Events, keep_events
from ._parts import Held
from ._patches import Between
from ._unknown import call_of
from .kit import Adapter, Gate, Refusal, ToolCall, shown_as

SUPPORTED: Final = Between("1.15.10", "1.15.30")


# -- results ---------------------------------------------------------------------------------------


@functools.cache
def _failure() -> Any:
    return import_module("crewai.tools.tool_failure").ToolFailure


def _shown(raw: Any) -> Any:
    if isinstance(raw, _failure()):
        return raw.as_agent_message()
    return shown_as.pydantic.shown(raw)


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(raw, _failure()):
        return raw.model_copy(update={"message": str(value), "code": None, "details": {}})
    try:
        return shown_as.pydantic.packed(call, raw, value)
    except ValueError:  # pydantic's error is a ValueError: an agent reads its text
        return value


def _refused(refused: Refusal) -> Any:
    return _failure()(message=refused.text)


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "crewai", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.crewai",
)  # fmt: skip
_ADAPTER.pauses("crewai.flow.async_feedback.types:HumanFeedbackPending")


def _run(stock: Any, tool: Any, *args: Any, **kwargs: Any) -> Any:
    arguments, spread = named(tool.args_schema.model_fields, args, kwargs)

    def body(arguments: dict[str, Any]) -> Any:
        by_place, by_name = spread(arguments)
        return stock(tool, *by_place, **by_name)

    return _call(tool, arguments), body


def _invoked(stock: Any, tool: Any, input: Any, config: Any = None, **kwargs: Any) -> Any:
    given = _parsed(input)
    if not isinstance(given, dict):  # CrewAI reports what is wrong with it
        return _call(tool, {"input": given, **kwargs}), lambda _: stock(tool, input, config)

    def body(arguments: dict[str, Any]) -> Any:
        besides = {name: arguments[name] for name in kwargs if name in arguments}
        shown = {name: each for name, each in arguments.items() if name not in besides}
        return stock(tool, shown, config, **besides)

    return _call(tool, {**given, **kwargs}), body


def _parsed(input: Any) -> Any:
    try:
        return json.loads(input) if isinstance(input, str) else input
    except ValueError:
        return input


def _call(tool: Any, arguments: dict[str, Any]) -> ToolCall:
    tool = getattr(tool, "_original_tool", None) or tool
    cls: type = type(tool)
    return ToolCall(_name(tool.name), arguments, None, _kind(cls), tool, _AGENT.get())


@functools.lru_cache(1000)
def _name(name: str) -> str:
    clean: str = import_module("crewai.utilities.string_utils").sanitize_tool_name(name)
    return clean


def _kind(cls: type) -> str:
    homes = {each.__module__ for each in cls.__mro__}
    if "crewai.tools.agent_tools.base_agent_tools" in homes:
        return "agent"
    is_remote = {"crewai.tools.mcp_native_tool", "crewai.tools.mcp_tool_wrapper"} & homes
    return "mcp" if is_remote else "function"


_ADAPTER.tool("crewai.tools.structured_tool:CrewStructuredTool.invoke", _invoked)
_ADAPTER.tool("crewai.tools.structured_tool:CrewStructuredTool.ainvoke", _invoked)
_ADAPTER.tool("crewai.tools.base_tool:BaseTool.arun", _run, layer=1)
_ADAPTER.tool("crewai.tools.base_tool:BaseTool.run", _run, layer=2)


# -- whose call it is, and tools that do not exist -------------------------------------------------

_AGENT: Final[ContextVar[str | None]] = ContextVar("hookbus_crewai_agent", default=None)
"""The role of the calling agent; CrewAI uses it as the agent's name."""


def _as(agent: Any) -> Held:
    role = getattr(agent, "role", None)
    return Held(_AGENT, role if isinstance(role, str) else None)


@_ADAPTER.wrap("crewai.utilities.tool_utils:execute_tool_and_check_finality")
def _execute_tool(gate: Gate, stock: Any, *args: Any, **kwargs: Any) -> Any:
    with _as(kwargs.get("agent")):
        return stock(*args, **kwargs)


@_ADAPTER.wrap("crewai.utilities.tool_utils:aexecute_tool_and_check_finality")
async def _execute_tool_async(gate: Gate, stock: Any, *args: Any, **kwargs: Any) -> Any:
    with _as(kwargs.get("agent")):
        return await stock(*args, **kwargs)


@_ADAPTER.wrap("crewai.utilities.agent_utils:execute_single_native_tool_call")
def _execute_native(gate: Gate, stock: Any, tool_call: Any, **given: Any) -> Any:
    with _as(given["agent"]):
        found = stock(tool_call, **given)
        if found.func_name not in given["available_functions"] and found.tool_message:
            found.result = _unknown(gate, tool_call, found.result, given["agent"])
            found.tool_message["content"] = found.result
        return found


@_ADAPTER.wrap("crewai.agents.agent_executor:AgentExecutor._execute_single_native_tool_call")
def _execute_native_of_executor(gate: Gate, stock: Any, executor: Any, tool_call: Any) -> Any:
    with _as(executor.agent):
        found = stock(executor, tool_call)
        failure = found.get("tool_failure")
        if failure is not None and failure.reason.name == "UNKNOWN_TOOL":
            found["result"] = _unknown(gate, tool_call, found["result"], executor.agent)
        return found


def _unknown(gate: Gate, tool_call: Any, message: str, agent: Any) -> str:
    """Run the hooks for a call to a tool that an agent does not have, and return the text for the
    model."""
    asked = import_module("crewai.utilities.agent_utils").extract_tool_call_info(tool_call)
    call_id, name, arguments = asked
    call = call_of(name, arguments, call_id, agent, _AGENT.get())
    return str(_shown(gate.run(call, lambda _: message)))


_MISSED: Final[WeakKeyDictionary[Any, Exception]] = WeakKeyDictionary()
"""The text for a model about a missing tool. It is stored because CrewAI looks for a tool several
times."""


@_ADAPTER.wrap("crewai.tools.tool_usage:ToolUsage._select_tool")
def _select_tool(gate: Gate, stock: Any, usage: Any, tool_name: str) -> Any:
    """Run the hooks for a call to a missing tool, for a model that writes its actions as text."""
    try:
        return stock(usage, tool_name)
    except Exception as error:  # CrewAI raises exactly this class
        if usage in _MISSED:
            raise _MISSED[usage] from None
        _MISSED[usage] = missing = error
    asked = getattr(usage.action, "tool_input", None)

    def body(arguments: dict[str, Any]) -> Any:
        raise missing

    call = call_of(tool_name, asked, None, usage.agent, _AGENT.get())
    _MISSED[usage] = Exception(str(_shown(gate.run(call, body))))
    raise _MISSED[usage]


# -- models and runs -------------------------------------------------------------------------------

_LLM: Final = "crewai.llms.base_llm:BaseLLM"
_ADAPTER.model(f"{_LLM}.call", f"{_LLM}.acall", aside=Events)


@_ADAPTER.also
def _hook_runs(gate: Gate) -> None:
    keep_events(gate.patches)
    follow(gate.patches, import_module("crewai.crew").Crew, "kickoff_async", "akickoff")
    core = import_module("crewai.agent.core")
    passing = *gate.patches.look_for(core, "_passthrough_exceptions"), HookBlocked
    gate.patches.replace(core, "_passthrough_exceptions", passing)  # an agent does not retry
    follow(gate.patches, core.Agent, "kickoff_async", "akickoff", "aexecute_task")


install = _ADAPTER.install
