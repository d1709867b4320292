"""FastMCP: hooks around every call to a server's tool.

`tool_call` (sender: the `Tool`) covers every tool call: over the protocol, through
`FastMCP.call_tool()` (even with `run_middleware=False`) and through `Tool.run()`. It runs after all
middleware. A blocked call returns a result that is marked as an error. `kind` is `"mcp"` if a tool
forwards the call to a mounted server or over a proxy, and otherwise `"function"`.

If a tool wraps another tool, there are two calls, one inside the other. Examples are transformed
tools, and tools of a mounted server that have a different name there. For a tool of a server
mounted without a prefix, there is only one call.

Calls by a `fastmcp.Client` are calls of the MCP SDK; to hook them, call
`adapters.mcp.install(server=False)`. If both sides of that adapter are installed, the hooks of a
FastMCP server still run only at its tools.

Not covered: answers of middleware or an extension that do not call the tool, such as a cache; a
subclass of `FastMCP` that overrides `call_tool` and does not run a `Tool`; resources and prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._mcp_results import Parts, fitting, parts, shown
from ._newer import Untested
from ._patches import Between
from ._unknown import call_of
from ._vocabulary import refusal
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("4.0.0", "4.2.3")


def guarded(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Any:  # fmt: skip
    """Return middleware that guards one server, without patching FastMCP.

        server = FastMCP("shop", middleware=[guarded(bus)])

    The middleware covers every call through that server's middleware. The sender is the returned
    object. It does not cover `Tool.run()` and `call_tool(run_middleware=False)`. Put this
    middleware last, because it does not see changes that later middleware makes to the arguments.
    Do not use it together with `install`, because the hooks would run twice.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Raises:
        HookError: if fastmcp is not installed or has an unsupported version.
    """
    gate = _ADAPTER.gate(bus, say=say, untested=untested)

    class Guarded(import_module("fastmcp.server.middleware").Middleware):  # type: ignore[misc]
        async def on_call_tool(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
            asked, found = context.message, []

            async def body(arguments: dict[str, Any]) -> Any:
                message = asked.model_copy(update={"arguments": arguments})
                found.append(await call_next(context.copy(message=message)))
                return found[-1]

            call = ToolCall(asked.name, dict(asked.arguments or ()), _number(), tool=self)
            result = await gate.run_async(call, body)
            if any(result is each for each in found) or result.is_error:
                return result
            tool = await context.fastmcp_context.fastmcp.get_tool(asked.name)
            if tool is None or tool.output_schema is None:
                return result
            given = Parts(result.content, result.structured_content)
            return _result(fitting(given, tool.output_schema))

    return Guarded()


# -- results ---------------------------------------------------------------------------------------


def _tools() -> Any:
    return import_module("fastmcp.tools.base")


def _result(given: Parts) -> Any:
    return _tools().ToolResult(given.content, given.structured_content, is_error=given.is_error)


def _shown(raw: Any) -> Any:
    question = getattr(raw, "input_required", None)  # a question of the server instead of a result
    if question is not None:
        return question.model_dump(mode="json", by_alias=True, exclude_none=True)
    return shown(raw) if isinstance(raw, _tools().ToolResult) else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    question = getattr(raw, "input_required", None)
    if question is not None and isinstance(value, Mapping):
        return type(raw)(type(question).model_validate(value))
    old = raw if question is None and isinstance(raw, _tools().ToolResult) else None
    return _result(parts(old, value, getattr(call.tool, "output_schema", None)))


def _refused(refused: Refusal) -> Any:
    return _tools().ToolResult(refused.text, is_error=True)


# -- tools -----------------------------------------------------------------------------------------


def _kind(tool: Any) -> str:
    return "mcp" if isinstance(tool, (_mounted(), _proxy())) else "function"


def _mounted() -> Any:
    return import_module(_PROVIDER).FastMCPProviderTool


def _proxy() -> Any:
    return import_module("fastmcp.server.providers.proxy").ProxyTool


def _number(given: Any = None) -> str | None:
    """Return the id of the current request, or None if a program makes the call."""
    try:
        return str(import_module("fastmcp.server.dependencies").get_context().request_id)
    except RuntimeError:
        return None


_PROVIDER: Final = "fastmcp.server.providers.fastmcp_provider"
_ADAPTER: Final = Adapter(
    "fastmcp", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.fastmcp",
)  # fmt: skip
_ADAPTER.pauses("mcp:UrlElicitationRequiredError")
_CALL: Final[dict[str, Any]] = {"arguments": "arguments", "kind": _kind, "call_id": _number}
_ADAPTER.tool("fastmcp.tools:Tool._run", **_CALL)
_ADAPTER.tool("fastmcp.tools:Tool.run", **_CALL, layer=1)


@_ADAPTER.wrap("fastmcp:FastMCP.call_tool")
async def _unknown(
    gate: Gate, stock: Any, server: Any, name: str, arguments: Any = None, **options: Any
) -> Any:
    """Run the hooks for calls to tools that a server does not have, after the server's
    middleware."""
    if options.get("run_middleware", True):
        return await stock(server, name, arguments, **options)
    try:
        return await stock(server, name, arguments, **options)
    except import_module("fastmcp.exceptions").NotFoundError as error:
        if str(error) != f"Unknown tool: {name!r}":
            raise
        missing = error

    async def body(arguments: dict[str, Any]) -> Any:
        raise missing

    return await gate.run_async(call_of(name, arguments or {}, _number(), server, None), body)


@_ADAPTER.wrap(f"{_PROVIDER}:FastMCPProviderTool._run")
@_ADAPTER.wrap(f"{_PROVIDER}:FastMCPProviderTool.run")
async def _forwarded(gate: Gate, seam: Any, tool: Any, arguments: Any) -> Any:
    """Pass a call to a mounted server's tool with the same name through, because the mounted server
    runs the hooks."""
    is_alias = tool.name != tool._original_name
    return await (seam if is_alias else seam.__wrapped__)(tool, arguments)


install = _ADAPTER.install
