"""CrewAI: hooks around every call of a tool and of a model.

Not covered: results from CrewAI's cache, because no tool is called (`Crew(cache=False)` turns the
cache off); and functions, other than tools, that a program passes to `LLM.call`.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from hookbus import Bus, HookBlocked, default_bus

from ._arguments import named
from ._cancelled import follow
from ._crewai_events import Events, keep_events
from ._models import hook_models
from ._newer import Untested, patches_of
from ._patches import Between, Uninstall, exceptions, named_options
from ._tools import Gate, Refusal, Results, ToolCall
from ._unknown import call_of
from ._vocabulary import refusal

SUPPORTED: Final = Between("1.15.10", "1.15.30")

PASSES: Final = ("crewai.flow.async_feedback.types:HumanFeedbackPending",)
"""Exceptions that return control to the framework and are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools and models of CrewAI, both existing and future ones.

    `tool_call` (sender: the `BaseTool`, or a `CrewStructuredTool` that was not made from one)
    covers every `run`, `arun`, `invoke` and `ainvoke` of a tool: by an agent, with native tool
    calls or with actions written as text, by a program, or by `LLM.call`. `name` is the name that
    models use, such as `delegate_work_to_coworker` (`kind="agent"`). `arguments` are those of the
    model, before the tool's schema fills in defaults. `model_call` covers `call` and `acall` of a
    `BaseLLM`. If a receiver may change or block an answer, CrewAI's own events of the answer are
    delayed until the receiver has returned.

    A blocked call returns CrewAI's `ToolFailure`, also to a program. The agent's model reads its
    text. CrewAI does not retry the call, and does not use the text as the answer if the tool has
    `result_as_answer`. If the agent's `tool_failure_policy` is to raise, the agent raises an
    exception. CrewAI runs tools in threads. If a run is cancelled, it still waits for a running
    guard, and then the tool does not run.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores CrewAI. A second call does nothing.

    Raises:
        HookError: if CrewAI is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("crewai", "crewai", SUPPORTED, untested, install) as patches:
        structured = import_module("crewai.tools.structured_tool").CrewStructuredTool
        base = import_module("crewai.tools.base_tool").BaseTool
        results = Results(_shown, _packed, _refused)
        gate = Gate(patches, bus, results, words=("tool_call", "model_call"), say=say,
                    passes=exceptions(*PASSES))  # fmt: skip
        gate.seam(structured, "invoke", _invoked)
        gate.seam(structured, "ainvoke", _invoked)
        gate.seam(base, "arun", _run, layer=1)
        gate.seam(base, "run", _run, layer=2)
        _hook_agents(gate)
        llm = import_module("crewai.llms.base_llm").BaseLLM
        asked = {"call": "model_call", "acall": "model_call"}
        hook_models(gate.vocabulary, llm, asked, aside=Events)
        keep_events(patches)
        follow(patches, import_module("crewai.crew").Crew, "kickoff_async", "akickoff")
        core = import_module("crewai.agent.core")
        passing = *patches.look_for(core, "_passthrough_exceptions"), HookBlocked
        patches.replace(core, "_passthrough_exceptions", passing)  # an agent does not retry
        agent = core.Agent
        follow(patches, agent, "kickoff_async", "akickoff", "aexecute_task")
    return patches.restore


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


# -- whose call it is, and tools that do not exist -------------------------------------------------

_AGENT: Final[ContextVar[str | None]] = ContextVar("hookbus_crewai_agent", default=None)
"""The role of the calling agent; CrewAI uses it as the agent's name."""


def _hook_agents(gate: Gate) -> None:
    patches = gate.patches
    writing, native = (import_module(f"crewai.utilities.{each}")
                       for each in ("tool_utils", "agent_utils"))  # fmt: skip

    def single(stock: Any) -> Any:
        @functools.wraps(stock)
        def execute(tool_call: Any, **given: Any) -> Any:
            with _as(given["agent"]):
                found = stock(tool_call, **given)
                if found.func_name not in given["available_functions"] and found.tool_message:
                    found.result = _unknown(gate, tool_call, found.result, given["agent"])
                    found.tool_message["content"] = found.result
                return found

        return execute

    def single_of_executor(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def execute(executor: Any, tool_call: Any) -> Any:
            with _as(executor.agent):
                found = stock(executor, tool_call)
                failure = found.get("tool_failure")
                if failure is not None and failure.reason.name == "UNKNOWN_TOOL":
                    found["result"] = _unknown(gate, tool_call, found["result"], executor.agent)
                return found

        return execute

    for name in ("execute_tool_and_check_finality", "aexecute_tool_and_check_finality"):
        patches.wrap_function(writing, name, _named)
    patches.wrap_function(native, "execute_single_native_tool_call", single)
    executor = import_module("crewai.agents.agent_executor").AgentExecutor
    patches.wrap(executor, "_execute_single_native_tool_call", single_of_executor)
    usage = import_module("crewai.tools.tool_usage").ToolUsage
    patches.wrap(usage, "_select_tool", functools.partial(_selected, gate))


def _named(stock: Any) -> Any:
    if inspect.iscoroutinefunction(stock):

        @functools.wraps(stock)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            with _as(kwargs.get("agent")):
                return await stock(*args, **kwargs)

        return run_async

    @functools.wraps(stock)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _as(kwargs.get("agent")):
            return stock(*args, **kwargs)

    return run


@contextmanager
def _as(agent: Any) -> Iterator[None]:
    role = getattr(agent, "role", None)
    previous = _AGENT.get()
    try:
        _AGENT.set(role if isinstance(role, str) else None)
        yield
    finally:
        _AGENT.set(previous)


def _unknown(gate: Gate, tool_call: Any, told: str, agent: Any) -> str:
    """Make hooks run for a call of a tool that an agent does not have; return the text for its
    model."""
    asked = import_module("crewai.utilities.agent_utils").extract_tool_call_info(tool_call)
    call_id, name, arguments = asked
    call = call_of(name, arguments, call_id, agent, _AGENT.get())
    found = gate.run(call, lambda _: told)
    return found.as_agent_message() if isinstance(found, _failure()) else str(found)


def _selected(gate: Gate, owner: type, stock: Any) -> Any:
    """The same for a model that writes its actions: CrewAI looks for the tool several times."""
    told: WeakKeyDictionary[Any, Exception] = WeakKeyDictionary()

    @functools.wraps(stock)
    def _select_tool(usage: Any, tool_name: str) -> Any:
        try:
            return stock(usage, tool_name)
        except Exception as error:  # CrewAI raises exactly this class
            if usage in told:
                raise told[usage] from None
            told[usage] = missing = error
        asked = getattr(usage.action, "tool_input", None)

        def body(arguments: dict[str, Any]) -> Any:
            raise missing

        call = call_of(tool_name, asked, None, usage.agent, _AGENT.get())
        found = gate.run(call, body)
        text = found.as_agent_message() if isinstance(found, _failure()) else str(found)
        told[usage] = Exception(text)
        raise told[usage]

    return _select_tool


# -- results ---------------------------------------------------------------------------------------


@functools.cache
def _failure() -> Any:
    return import_module("crewai.tools.tool_failure").ToolFailure


def _shown(raw: Any) -> Any:
    if isinstance(raw, _failure()):
        return raw.as_agent_message()
    dump = getattr(raw, "model_dump", None)
    return raw if dump is None else dump(mode="json")


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(raw, _failure()):
        return raw.model_copy(update={"message": str(value), "code": None, "details": {}})
    validate = getattr(type(raw), "model_validate", None)
    if validate is None or not isinstance(value, dict):
        return value
    try:
        return validate(value)
    except ValueError:  # pydantic's error is a ValueError: an agent reads its text
        return value


def _refused(refused: Refusal) -> Any:
    return _failure()(message=refused.text)
