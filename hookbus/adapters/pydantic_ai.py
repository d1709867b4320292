"""Pydantic AI: hooks around every call to a tool, an output function or a model, and around every
run of an agent.

`tool_call` covers every call to a tool in any toolset, every call to an output function, and
structured output that a model returns as a tool call. The sender is the `Tool`, the toolset (for
MCP and other toolsets), the output function, or the validator of an output tool. `model_call`
(sender: the `Model`) covers every request to a model, streamed or not, and `model_stream` gets the
events of a streamed request. `agent_run` (sender: the agent) covers `run` and `run_sync`. A blocked
call raises `ToolFailed`, which the model reads. It does not count as a retry. For an output
function, it raises `ModelRetry`, because the run has no output yet.

While the `approver` decides, the call is deferred: the run ends with `DeferredToolRequests`, and
continues with `DeferredToolResults`.

The hooks of Pydantic AI's capabilities run outside hookbus's hooks, so guards see their changes. An
MCP toolset's `process_tool_call` runs inside hookbus's hooks. If it changes the arguments, the
guards run again, except for a tool with an MCP App. To hook a durable execution in another process,
install the adapter in that process. `agent_run` does not cover `run_stream`, `iter` and similar
methods, but their model and tool calls are covered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._newer import Untested
from ._patches import Between
from ._pauses import Pause, answered, shown
from ._pydantic_ai_output import Output, hook_outputs
from ._pydantic_models import hook_models
from ._tools import note_schema
from ._unknown import call_of
from ._vocabulary import refusal
from .kit import Adapter, Gate, Refusal, ToolCall, shown_as

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request

SUPPORTED: Final = Between("2.23.0", "2.68.0")
"""Versions of pydantic-ai-slim, which contains most of pydantic-ai."""


def guarded(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Any:  # fmt: skip
    """Return a capability that sends the tool calls of one agent through `tool_call`, without
    patching: `Agent(..., capabilities=[guarded()])`.

    It covers the same tools as `install`, including MCP toolsets, in all runs of that agent,
    streamed or not. It does not cover output functions, models, or agents that its tools run, and
    it does not see changes by a wrapping toolset.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Raises:
        HookError: if pydantic-ai-slim is not installed or has an unsupported version.
    """
    gate = _ADAPTER.gate(bus, say=say, untested=untested)
    wrapper: Any = import_module("pydantic_ai.toolsets").WrapperToolset
    capability: Any = import_module("pydantic_ai.capabilities").AbstractCapability

    class GuardedToolset(wrapper):  # type: ignore[misc]
        async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
            call = _read(name, tool_args, ctx, tool)
            return await gate.run_async(
                call, lambda changed: self.wrapped.call_tool(name, changed, ctx, tool), layer=1
            )

    class Guarded(capability):  # type: ignore[misc]
        def get_wrapper_toolset(self, toolset: Any) -> Any:
            return GuardedToolset(toolset)

    return Guarded()


# -- results ---------------------------------------------------------------------------------------


def _shown(raw: Any) -> Any:
    """Return the part of a result that the model reads. A `ToolReturn` may have additional
    content."""
    if isinstance(raw, Output):
        return raw.value
    if _is_tool_return(raw):
        value = shown_as.pydantic.shown(raw.return_value)
        return value if raw.content is None else {"return_value": value, "content": raw.content}
    return shown_as.pydantic.shown(raw)


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if not _is_tool_return(raw):
        return value
    both = isinstance(value, dict) and value.keys() == {"return_value", "content"}
    kept = value if both else {"return_value": value, "content": None}
    return replace(raw, **kept, metadata=None)  # the metadata may hold the old value


def _is_tool_return(raw: Any) -> bool:
    return isinstance(raw, import_module("pydantic_ai").ToolReturn)


def _refused(refused: Refusal) -> Any:
    exceptions = import_module("pydantic_ai.exceptions")
    is_output = refused.call.kind == "output"
    error = exceptions.ModelRetry if is_output else exceptions.ToolFailed
    raise error(refused.text) from refused.blocked


# -- tools -----------------------------------------------------------------------------------------


def _managed(stock: Any, manager: Any, validated: Any, **options: Any) -> Any:
    call = _read(validated.call.tool_name, validated.validated_args, validated.ctx, validated.tool)

    def body(arguments: dict[str, Any]) -> Any:
        if arguments is validated.validated_args:
            return stock(manager, validated, **options)
        return stock(manager, replace(validated, validated_args=arguments), **options)

    return call, body


def _called(
    stock: Any, toolset: Any, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any
) -> Any:
    call = _read(name, tool_args, ctx, tool)
    return call, lambda arguments: stock(toolset, name, arguments, ctx, tool)


def _read(name: str, arguments: dict[str, Any], ctx: Any, tool: Any) -> ToolCall:
    """Return the call. The tool of the call is the same object at any depth of nested toolsets."""
    while (inner := getattr(tool, "source_tool", None)) is not None:
        tool = inner
    found = tool.toolset
    while (inner := getattr(found, "wrapped", None)) is not None:
        found = inner
    is_mcp = any(each.__module__ == "pydantic_ai.mcp" for each in type(found).__mro__)
    schema = getattr(getattr(tool, "call_func", None), "__self__", None)
    for each in getattr(found, "tools", {}).values() if schema is not None else ():
        if each.function_schema is schema:
            found = each
    kind = "mcp" if is_mcp else "function"
    if is_mcp:
        declared = tool.tool_def
        note_schema(found, name, declared.parameters_json_schema, declared.description)
    return ToolCall(name, arguments, ctx.tool_call_id, kind, found, ctx.agent, ctx)


def _deferred(call: ToolCall, request: Request, is_new: bool) -> Approved | Denied | None:
    """Return the approval with which a run was resumed, or defer the call."""
    ctx = call.context
    if ctx is None:  # not a tool of an agent
        return None
    if ctx.tool_call_approved and not is_new:
        said = {"id": request.id, "approved": True, **(ctx.tool_call_metadata or {})}
        found = answered(said, request, by="the caller that resumed the run")
        if found is not None:
            return found
    raise import_module("pydantic_ai").ApprovalRequired(metadata=shown(request))


_ADAPTER: Final = Adapter(
    "pydantic-ai-slim", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.pydantic_ai",
)  # fmt: skip
_ADAPTER.words("model_call", "model_stream")
_ADAPTER.pauses(*(f"pydantic_ai.exceptions:{name}" for name in (
    "CallDeferred", "ApprovalRequired", "ModelRetry", "ToolRetryError", "SkipModelRequest",
    "SkipToolExecution",
)))  # fmt: skip
_ADAPTER.asks(Pause(lambda call: call.call_id, _deferred))
_MANAGER: Final = "pydantic_ai.tool_manager:ToolManager"
_ADAPTER.tool(f"{_MANAGER}._raw_execute", _managed)
_ADAPTER.tool("pydantic_ai.toolsets:FunctionToolset.call_tool", _called, layer=1)
_ADAPTER.tool("pydantic_ai.mcp:MCPToolset.direct_call_tool", arguments="args", kind="mcp", layer=1,
              if_installed=True)  # fmt: skip
_ADAPTER.also(hook_outputs)
_ADAPTER.also(lambda gate: hook_models(gate.vocabulary))
_ADAPTER.run("pydantic_ai.agent:AbstractAgent.run", input="user_prompt", stream=False)


@_ADAPTER.wrap(f"{_MANAGER}.validate_tool_call", optional=True)
async def _validate_tool_call(gate: Gate, stock: Any, own: Any, call: Any, **options: Any) -> Any:
    """Run the hooks for calls to tools that do not exist. Older releases cannot return a denial for
    such a call."""
    has_place = hasattr(own, "_wrap_error_as_failed")
    if own.tools is None or call.tool_name in own.tools or not has_place:
        return await stock(own, call, **options)
    failed = import_module("pydantic_ai.exceptions").ToolFailed
    asked = call_of(call.tool_name, call.args, call.tool_call_id, own,
                    getattr(own.ctx, "agent", None))  # fmt: skip
    done: list[Any] = []

    async def body(arguments: dict[str, Any]) -> Any:
        done.append(await stock(own, call, **options))
        return str(done[-1].validation_error)

    try:
        reply = await gate.run_async(asked, body)
    except failed as refused:
        error = refused
    else:
        if done and reply == str(done[-1].validation_error):
            return done[-1]
        error = failed(str(reply))
    if not options.get("wrap_validation_errors", True):
        raise error
    found = done[-1] if done else await stock(own, call, **options)
    return replace(
        found, validation_error=own._wrap_error_as_failed(call.tool_name, call, error)
    )


install = _ADAPTER.install
