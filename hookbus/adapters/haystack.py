"""Haystack: hooks around every call of a tool."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._injected import is_written
from ._newer import Untested, patches_of
from ._patches import Between, Patches, Uninstall, named_options
from ._tools import Gate, Refusal, Results, ToolCall
from ._unknown import hook_haystack
from ._vocabulary import refusal

SUPPORTED: Final = Between("3.1.0", "3.4.1")
"""Versions of haystack-ai."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools of Haystack, both existing and future ones.

    `tool_call` (sender: the `Tool`) covers every `invoke` and `invoke_async`, by an agent, a
    pipeline or a program. Tools can be functions, components, pipelines, agents or tools of an MCP
    server. A blocked call raises a `ToolInvocationError` that is also a `HookBlocked`. An agent
    passes it to its model as a result that is marked as an error; a program can catch it. An agent
    with `raise_on_tool_invocation_failure` raises it, like any failure of a tool.

    Receivers get documents and messages in results as dicts. If a tool has an `outputs_to_string`
    handler, a string that replaces the result is passed to that handler, except for an `AgentTool`.
    Not covered: chat generators, because they have no common base class.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores Haystack. A second call does nothing.

    Raises:
        HookError: if haystack-ai is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("haystack", "haystack-ai", SUPPORTED, untested, install) as patches:
        tools = import_module("haystack.tools")
        error = _told_error(import_module("haystack.tools.errors").ToolInvocationError)

        def refused(refused: Refusal) -> Any:
            raise error(refused)

        gate = Gate(patches, bus, Results(_shown, _packed, refused), say=say)
        gate.seam(tools.Tool, "invoke_async", _invoked)
        gate.seam(tools.Tool, "invoke", _invoked, layer=1)
        _hook_state(patches)
        hook_haystack(gate)
        if mcp := _mcp():
            gate.seam(mcp.MCPTool, "ainvoke", _invoked)
    return patches.restore


_INJECTED: Final[ContextVar[tuple[Any, dict[str, Any]] | None]] = ContextVar(
    "hookbus_haystack", default=None
)
"""The tool that an agent runs, and the arguments that the agent injects and no model can write.
Receivers see strings and numbers of the agent's state, because another tool may have written them.
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


def _hook_state(patches: Patches) -> None:
    """Record the objects that an agent injects into the arguments: its state, and its contents."""
    home = import_module("haystack.components.agents.tool_calling")

    def injected(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        asked = given["tool_call"].arguments
        return given["tool"], {
            name: value for name, value in given["args"].items()
            if asked.get(name, _INJECTED) is not value and not is_written(value)
        }  # fmt: skip

    def bound(stock: Any) -> Any:
        @functools.wraps(stock)
        def make(**given: Any) -> Any:
            previous = _INJECTED.get()
            try:
                _INJECTED.set(injected(given))
                return stock(**given)  # it copies the current context
            finally:
                _INJECTED.set(previous)

        return make

    def bound_async(stock: Any) -> Any:
        @functools.wraps(stock)
        def make(**given: Any) -> Any:
            run = stock(**given)

            async def runner() -> Any:
                _INJECTED.set(injected(given))  # it runs in its own task
                return await run()

            return runner

        return make

    patches.wrap_function(home, "_make_context_bound_invoke", bound)
    patches.wrap_function(home, "_make_bounded_invoke_async", bound_async)


def _mcp() -> Any:
    """Return the separate package of MCP tools; None if it is not installed."""
    try:
        return import_module("haystack_integrations.tools.mcp")
    except ModuleNotFoundError:
        return None


def _kind(tool: Any) -> str:
    if _is_agent(tool):
        return "agent"
    homes = (cls.__module__ for cls in type(tool).__mro__)
    is_mcp = any(home.startswith("haystack_integrations.tools.mcp") for home in homes)
    return "mcp" if is_mcp else "function"


def _is_agent(tool: Any) -> bool:
    agent = import_module("haystack.components.agents").Agent
    return isinstance(getattr(tool, "_component", None), agent)


def _told_error(base: type[Exception]) -> Callable[[Refusal], Exception]:
    """Return the function that turns a denial into an error for an agent's model or a program."""

    class ToolCallBlocked(base, HookBlocked):  # type: ignore[misc, valid-type]
        def __init__(self, refused: Refusal) -> None:
            blocked = refused.blocked
            self.args, self.verdict = blocked.args, blocked.verdict
            self.call_id = blocked.call_id
            self.tool_name, self._text = refused.call.name, refused.text

        def __str__(self) -> str:
            return self._text

    return ToolCallBlocked


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
    """Return plain data with the objects that the framework's value has in the same places."""
    if isinstance(value, dict):
        if _is_object(raw):
            return type(raw).from_dict(value)
        known = raw if isinstance(raw, dict) else {}
        return {key: _like(known.get(key), each) for key, each in value.items()}
    if isinstance(value, list) and isinstance(raw, (list, tuple)):
        return [_like(_of_its_kind(raw, each), each) for each in value]
    return value


def _of_its_kind(raw: Any, value: Any) -> Any:
    """Return the object in a list for such a dict; other objects may have been removed."""
    found = (each for each in raw if _is_object(each) and _shown(each).keys() == value.keys())
    return next(found, None) if isinstance(value, dict) else None
