"""Pydantic AI: hooks around every call of a tool, an output function or a model, and around every
run of an agent.

The hooks of Pydantic AI's capabilities run outside hookbus's hooks, so guards see their changes. An
MCP toolset's `process_tool_call` runs inside. If it changes the arguments, the guards run again,
except for a tool with an MCP App. To hook a durable execution in another process, install the
adapter there. `agent_run` does not cover `run_stream`, `iter` and similar methods, but their model
and tool calls are covered.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._newer import Untested, in_place_of, patches_of
from ._patches import Between, Uninstall, exceptions, named_options
from ._pauses import Pause, answered, shown
from ._pydantic_ai_output import Output, hook_outputs
from ._pydantic_models import hook_models
from ._tools import Gate, Refusal, Results, ToolCall, note_schema
from ._unknown import hook_pydantic_ai
from ._vocabulary import Attempt, refusal

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request, Store

PACKAGE: Final = "pydantic-ai-slim"
SUPPORTED: Final = Between("2.23.0", "2.68.0")
"""Versions of pydantic-ai-slim, which contains most of pydantic-ai."""

PASSES: Final = (
    *(f"pydantic_ai.exceptions:{name}" for name in (
        "CallDeferred", "ApprovalRequired", "ModelRetry", "ToolRetryError", "SkipModelRequest",
        "SkipToolExecution",
    )),
)
"""Exceptions that return control to the framework and are not failures of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None, untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools, models and runs of Pydantic AI, for both existing and future agents.

    `tool_call` covers every call of a tool in any toolset, every call of an output function, and
    structured output that a model returns as a tool call. The sender is the `Tool`, the toolset
    (for MCP and other toolsets), the output function, or the validator of an output tool.
    `model_call` (sender: the `Model`) covers every request to a model, streamed or not, and
    `model_stream` gets the events of a streamed request. `agent_run` (sender: the agent) covers
    `run` and `run_sync`. A blocked call raises `ToolFailed`, which the model reads and which does
    not use up a retry. For an output function, it raises `ModelRetry`, because the run has no
    output yet.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: a store that the bus asks for approval while the call is deferred: the run ends
            with `DeferredToolRequests`, and continues with `DeferredToolResults`.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores Pydantic AI. A second call does nothing.

    Raises:
        HookError: if pydantic-ai-slim is not installed, is incompatible, or already runs on
            hookbus; or if the bus has another approver.
    """
    with patches_of("pydantic_ai", PACKAGE, SUPPORTED, untested, install) as patches:
        words = "tool_call", "model_call", "model_stream", "agent_run"
        gate = Gate(patches, bus, RESULTS, words=words, say=say, approver=approver,
                    pause=Pause(lambda call: call.call_id, _deferred),
                    passes=exceptions(*PASSES))  # fmt: skip
        manager = import_module("pydantic_ai.tool_manager").ToolManager
        gate.seam(manager, "_raw_execute", _managed)
        hook_pydantic_ai(gate, manager)
        functions = import_module("pydantic_ai.toolsets").FunctionToolset
        gate.seam(functions, "call_tool", _called, layer=1)
        with suppress(ImportError):  # MCP is an extra of Pydantic AI
            mcp = import_module("pydantic_ai.mcp").MCPToolset
            gate.seam(mcp, "direct_call_tool", _sent, layer=1)
        hook_outputs(gate)
        hook_models(gate.vocabulary)
        _hook_runs(gate)
    return patches.restore


def guarded(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Any:  # fmt: skip
    """Return a capability that sends the tool calls of one agent through `tool_call`, without
    patching: `Agent(..., capabilities=[guarded()])`.

    It covers the same tools as `install`, including MCP toolsets, in all runs of that agent,
    streamed or not. It does not cover output functions, models, agents that its tools run, and
    changes that a wrapping toolset makes.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Raises:
        HookError: if pydantic-ai-slim is not installed or has an unsupported version.
    """
    patches = in_place_of("pydantic_ai", PACKAGE, SUPPORTED, untested, install)
    gate = Gate(patches, bus, RESULTS, say=say, passes=exceptions(*PASSES))
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


def _sent(stock: Any, toolset: Any, name: str, args: dict[str, Any], **options: Any) -> Any:
    call = ToolCall(name, args, kind="mcp", tool=toolset)
    return call, lambda arguments: stock(toolset, name, arguments, **options)


def _read(name: str, arguments: dict[str, Any], ctx: Any, tool: Any) -> ToolCall:
    """Return the call. Its tool is the same at any depth of nested toolsets."""
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


def _shown(raw: Any) -> Any:
    """Return the part of a result that the model reads: a `ToolReturn` may have further content."""
    if isinstance(raw, Output):
        return raw.value
    if _is_tool_return(raw):
        value = _plain(raw.return_value)
        return value if raw.content is None else {"return_value": value, "content": raw.content}
    return _plain(raw)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json")


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


RESULTS: Final = Results(_shown, _packed, _refused)


# -- runs ------------------------------------------------------------------------------------------


def _hook_runs(gate: Gate) -> None:
    def hooked(owner: type, stock: Any) -> Any:
        async def run(agent: Any, user_prompt: Any = None, **options: Any) -> Any:
            attempt = Attempt(lambda prompt: stock(agent, prompt, **options))
            return await gate.vocabulary.run_async("agent_run", attempt, agent, user_prompt)

        return run

    gate.patches.wrap(import_module("pydantic_ai.agent").AbstractAgent, "run", hooked)
