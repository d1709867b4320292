"""Hooks the tools of LangChain and LangGraph, and determines the caller and the result of each
call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from .._ground.signatures import signature_of
from ._injected import Injected, Split, split
from ._pauses import Pause, answered, shown
from ._tools import Gate, Refusal, Results, ToolCall

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request

_HANDED: Final = "__handoff_destination"
"""The key under which langgraph-supervisor and langgraph-swarm store the target of a hand-off
tool.
"""

_SUBAGENTS: Final = ("deepagents.middleware.subagents", "deepagents.middleware.async_subagents")
_ASKS_AGENTS: Final = {"task", "start_async_task", "update_async_task"}


# -- what a call is --------------------------------------------------------------------------------


def read_input(
    stock: Any, tool: Any, input: Any, config: Any = None, *args: Any, **kwargs: Any
) -> Any:
    is_call = isinstance(input, dict) and input.get("type") == "tool_call"
    given, call_id = (input["args"], input.get("id")) if is_call else (input, None)
    call, repack = _read(tool, given, call_id, config)

    def body(arguments: dict[str, Any]) -> Any:
        changed = repack(arguments)
        given = {**input, "args": changed} if is_call else changed
        return stock(tool, given, config, *args, **kwargs)

    return call, body


def read_tool_input(
    stock: Any, tool: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    call, repack = _read(tool, tool_input, tool_call_id, kwargs.get("config"))
    return call, lambda arguments: stock(
        tool, repack(arguments), *args, tool_call_id=tool_call_id, **kwargs
    )


def _read(
    tool: Any, given: Any, call_id: str | None, config: Any
) -> tuple[ToolCall, Callable[[Any], Any]]:
    """Return the call, and a function that converts its arguments back to LangChain's input, which
    may be a string."""
    kind, agent = _kind(tool), _agent(config)
    if isinstance(given, dict):
        found = _split(tool, given)
        return ToolCall(tool.name, found.shown, call_id, kind, tool, agent), found.whole
    name = next(iter(tool.args), "input")
    call = ToolCall(tool.name, {name: given}, call_id, kind, tool, agent)
    return call, lambda arguments: arguments[name] if [*arguments] == [name] else arguments


def _split(tool: Any, given: dict[str, Any]) -> Split:
    return split(given, lambda: _declared(tool, given))


def _declared(tool: Any, given: dict[str, Any]) -> set[str]:
    """Return the names of the given arguments that a tool declares as injected."""
    without = tool._filter_injected_args(given)
    return {*given} - {*without} - {"run_manager", "callbacks"}  # LangChain's own, of any tool


def _agent(config: Any) -> str | None:
    """Return the name of the innermost named agent among the running graphs, or None."""
    found = import_module("langchain_core.runnables.config").ensure_config(config)
    name = (found.get("metadata") or {}).get("lc_agent_name")
    return name if isinstance(name, str) else None


def _kind(tool: Any) -> str:
    if _HANDED in (getattr(tool, "metadata", None) or {}):
        return "handoff"
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if function is None:
        return "function"
    home = getattr(function, "__module__", None)
    if home in _SUBAGENTS:
        return "agent" if tool.name in _ASKS_AGENTS else "function"
    if home == "langchain_core.tools.convert" or inspect.ismethod(function):
        return "agent" if _is_graph(function) else "function"
    return "handoff" if _hands_over(function) else "function"


def _is_graph(function: Any) -> bool:
    """Return whether a tool was made by `as_tool` from an agent or another graph."""
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    homes = {cls.__module__ for each in (*cells, getattr(function, "__self__", None))
             for cls in type(each).__mro__}  # fmt: skip
    return "langgraph.pregel.main" in homes


def _hands_over(function: Any) -> bool:
    """Return whether a function declares its target by `-> Command[Literal["other"]]`."""
    try:
        answer = signature_of(function, eval_str=True).return_annotation
    except (TypeError, ValueError, NameError):
        return False
    home = getattr(get_origin(answer), "__module__", None)
    return home == "langgraph.types" and bool(get_args(answer))


# -- nodes of LangGraph ----------------------------------------------------------------------------


def inject(
    gate: Gate, stock: Any, own: Any, tool_call: Any, *args: Any, **kwargs: Any
) -> Any:
    """Record the values that a node injects into the arguments."""
    found = stock(own, tool_call, *args, **kwargs)
    tool = kwargs.get("tool") or own.tools_by_name.get(tool_call["name"])
    tool = args[1] if tool is None and len(args) > 1 else tool
    if tool is None:
        return found
    # A value that is still as the model wrote it is an argument, whatever its name.
    written, given = tool_call["args"], found["args"]
    names = {each for each in _declared(tool, given)
             if each not in written or written[each] is not given[each]}  # fmt: skip
    return {**found, "args": Injected(found["args"], names)} if names else found


def _missing(own: Any, request: Any, config: Any) -> ToolCall:
    asked = request.tool_call
    return ToolCall(
        asked["name"], dict(asked["args"]), asked["id"], "unknown", own, _agent(config)
    )


def call_missing(
    gate: Gate, stock: Any, own: Any, request: Any, input_type: Any, config: Any
) -> Any:
    """Run the hooks for calls to tools that a node does not have."""
    if request.tool is not None:
        return stock(own, request, input_type, config)
    call = _missing(own, request, config)
    return gate.run(call, lambda _: stock(own, request, input_type, config))


async def call_missing_async(
    gate: Gate, stock: Any, own: Any, request: Any, input_type: Any, config: Any
) -> Any:
    """Like `call_missing`, but for an async node."""
    if request.tool is not None:
        return await stock(own, request, input_type, config)
    call = _missing(own, request, config)
    return await gate.run_async(call, lambda _: stock(own, request, input_type, config))


# -- structured output -----------------------------------------------------------------------------


class _NoOutput(ValueError):
    """The denial of an output, whose message LangChain sends to the model."""


def put_out(gate: Gate, stock: Any, own: Any, tool_args: dict[str, Any]) -> Any:
    """Hook structured output that a model returns as a tool call. This output is the answer of the
    run.
    """
    call = ToolCall(own.tool.name, dict(tool_args), None, "output", own.tool, _agent(None))
    found = gate.run(call, lambda arguments: _Output(stock(own, arguments)))
    return found.value if isinstance(found, _Output) else found


class _Output:
    """The answer of a run. The object belongs to the program and is not changed."""

    def __init__(self, value: Any) -> None:
        self.value = value


# -- results ---------------------------------------------------------------------------------------


def _message() -> Any:
    return import_module("langchain_core.messages").ToolMessage


def _shown(raw: Any) -> Any:
    if isinstance(raw, _Output):
        return raw.value
    return raw.content if isinstance(raw, _message()) else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(raw, _message()):
        return raw.model_copy(update={"content": value, "artifact": None})
    if call.call_id is None or isinstance(value, _message()):
        return value
    return _message()(value, tool_call_id=call.call_id, name=call.name)


def _refused(refused: Refusal) -> Any:
    call = refused.call
    if call.kind == "output":  # a run has no answer yet
        raise _NoOutput(refused.text) from refused.blocked
    if call.call_id is None:  # a program waits
        raise refused.blocked
    return _message()(refused.text, tool_call_id=call.call_id, name=call.name, status="error")


RESULTS: Final = Results(_shown, _packed, _refused)


# -- a person's answer -----------------------------------------------------------------------------


def _interrupted(call: ToolCall, request: Request, is_new: bool) -> Approved | Denied | None:
    """Return the answer with which a graph was resumed, or interrupt it."""
    try:
        interrupt = import_module("langgraph.types").interrupt
    except ImportError:
        return None
    while True:  # each value of the resume; this raises after the last
        try:
            value = interrupt(shown(request))
        except (RuntimeError, KeyError):  # no graph runs
            return None
        said = answered(value, request, by="the caller that resumed the graph")
        if said is not None:
            return said


BY_INTERRUPT: Final = Pause(lambda call: call.call_id, _interrupted)
