"""Haystack: hooks around every call to a tool.

`tool_call` (sender: the `Tool`) covers every `invoke` and `invoke_async`, by an agent, a pipeline
or a program. Tools can be functions, components, pipelines, agents or tools of an MCP server. A
blocked call raises a `ToolInvocationError` that is also a `HookBlocked`. An agent passes this
exception to its model as a result that is marked as an error, and a program can catch it. An agent
with `raise_on_tool_invocation_failure` raises the exception, as for any failing tool.

Receivers see documents and messages in results as dicts. If a tool has an `outputs_to_string`
handler, a string that replaces the result is passed to that handler, except for an `AgentTool`. Not
covered: chat generators, because they have no common base class.
"""

from __future__ import annotations

from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from ._injected import is_written
from ._parts import Held
from ._patches import Between
from ._unknown import answer_missing, call_of
from .kit import Adapter, Gate, ToolCall, kind_by_class, refused_as

SUPPORTED: Final = Between("3.1.0", "3.4.1")
"""Versions of haystack-ai."""


# -- results: documents, messages and their parts, in dicts and lists ------------------------------


def _is_object(raw: Any) -> bool:
    return any(cls.__module__.startswith("haystack.dataclasses") for cls in type(raw).__mro__)


def _shown(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _shown(value) for key, value in raw.items()}
    if isinstance(raw, (list, tuple)):
        return [_shown(value) for value in raw]
    return raw.to_dict() if _is_object(raw) and hasattr(raw, "to_dict") else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(value, str) and _is_agent(call.tool):
        message = import_module("haystack.dataclasses").ChatMessage.from_assistant(value)
        return {"messages": [message], "last_message": message, "exit_reason": "text"}
    return _like(raw, value)


def _like(raw: Any, value: Any) -> Any:
    """Return plain data in which dicts are converted back to the framework's objects, as in the
    original result."""
    if isinstance(value, dict):
        if _is_object(raw):
            return type(raw).from_dict(value)
        known = raw if isinstance(raw, dict) else {}
        return {key: _like(known.get(key), each) for key, each in value.items()}
    if isinstance(value, list) and isinstance(raw, (list, tuple)):
        return [_like(_of_its_kind(raw, each), each) for each in value]
    return value


def _of_its_kind(raw: Any, value: Any) -> Any:
    """Return the object in a list that a dict represents, or None. Other objects may have been
    removed from the list."""
    found = (each for each in raw if _is_object(each) and _shown(each).keys() == value.keys())
    return next(found, None) if isinstance(value, dict) else None


# -- tools -----------------------------------------------------------------------------------------


_ADAPTER: Final = Adapter(
    "haystack-ai", tested=SUPPORTED, shown=_shown, packed=_packed,
    refused=refused_as("haystack.tools.errors:ToolInvocationError",
                       tool_name=lambda refused: refused.call.name),
    sample="hookbus.adapters._seams.haystack",
)  # fmt: skip

_INJECTED: Final[ContextVar[tuple[Any, dict[str, Any]] | None]] = ContextVar(
    "hookbus_haystack", default=None
)
"""The tool that an agent is running, and the injected arguments that no model can write. Receivers
do see strings and numbers from the agent's state, because another tool may have written them.
"""


def _invoked(stock: Any, tool: Any, /, **arguments: Any) -> Any:
    owner, injected = _INJECTED.get() or (None, {})
    hidden = {
        name: value for name, value in arguments.items()
        if owner is tool and injected.get(name, _INJECTED) is value
    }  # fmt: skip
    shown = {name: value for name, value in arguments.items() if name not in hidden}
    call = ToolCall(tool.name, shown, kind=_kind(tool), tool=tool)
    return call, lambda changed: stock(tool, **{**changed, **hidden})


_kind_by_class: Final = kind_by_class({"haystack_integrations.tools.mcp.*": "mcp"})


def _kind(tool: Any) -> str:
    return "agent" if _is_agent(tool) else _kind_by_class(tool)


def _is_agent(tool: Any) -> bool:
    agent = import_module("haystack.components.agents").Agent
    return isinstance(getattr(tool, "_component", None), agent)


_ADAPTER.tool("haystack.tools:Tool.invoke_async", _invoked)
_ADAPTER.tool("haystack.tools:Tool.invoke", _invoked, layer=1)
_ADAPTER.tool("haystack_integrations.tools.mcp:MCPTool.ainvoke", _invoked, if_installed=True)


# -- the objects that an agent injects into the arguments: its state, and its contents -------------

_CALLING: Final = "haystack.components.agents.tool_calling"


def _injected(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    asked = given["tool_call"].arguments
    return given["tool"], {
        name: value for name, value in given["args"].items()
        if asked.get(name, _INJECTED) is not value and not is_written(value)
    }  # fmt: skip


@_ADAPTER.wrap(f"{_CALLING}:_make_context_bound_invoke")
def _bound(gate: Gate, stock: Any, **given: Any) -> Any:
    with Held(_INJECTED, _injected(given)):
        return stock(**given)  # it copies the current context


@_ADAPTER.wrap(f"{_CALLING}:_make_bounded_invoke_async")
def _bound_async(gate: Gate, stock: Any, **given: Any) -> Any:
    run = stock(**given)

    async def runner() -> Any:
        _INJECTED.set(_injected(given))  # it runs in its own task
        return await run()

    return runner


# -- tools that do not exist -----------------------------------------------------------------------


@_ADAPTER.wrap(f"{_CALLING}:_resolve_tool_calls")
def _resolve_tool_calls(
    gate: Gate, stock: Any, messages: Any, tools_with_names: Any, **options: Any
) -> Any:
    home = import_module(_CALLING)
    asked = [
        each for found in messages for each in found.tool_calls
        if each.tool_name not in tools_with_names
    ]  # fmt: skip

    def missing(asked: Any) -> ToolCall:
        return call_of(asked.tool_name, asked.arguments, asked.id, home, None)

    try:
        calls, tools, errors = stock(messages, tools_with_names, **options)
    except home.ToolNotFoundException as error:
        raised = error

        def fail(_: Any) -> Any:
            raise raised

        return gate.run(missing(asked[0]), fail)
    answers = []
    for each, answer in zip(asked, errors, strict=True):
        text = answer.tool_call_result.result
        given = answer_missing(gate, missing(each), text)
        if given != text:
            message = import_module("haystack.dataclasses").ChatMessage
            answer = message.from_tool(given, origin=each, error=True)
        answers.append(answer)
    return calls, tools, answers


install = _ADAPTER.install
