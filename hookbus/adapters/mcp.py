"""MCP: hooks around every call to a tool, in clients and servers."""


from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, HookError, default_bus

from .._ground.keywords import named_options
from ._mcp_asks import BY_ELICITATION, Wire
from ._mcp_results import Parts, fitting, parts, shown
from ._newer import Untested
from ._patches import Between, Patches, Uninstall
from ._tools import note_schema
from ._vocabulary import refusal
from .kit import Adapter, Gate, Refusal, ToolCall

if TYPE_CHECKING:
    from hookbus.approvals import Store

SUPPORTED: Final = Between("2.0.0", "2.3.0")
"""Versions of mcp, the distribution of the SDK."""

_BARE: Final = "bare"


@named_options
def install(
    bus: Bus = default_bus, *, client: bool = True, server: bool = True,
    say: Callable[[HookBlocked], str] = refusal, approver: Store | None = None,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tool calls of sessions and servers of the MCP SDK.

    `tool_call` covers calls in clients and in servers. If client and server are in one process, the
    server's call is nested in the client's call:

    - `kind="mcp"`, sender: the `ClientSession`: every call by a client, a session group or a
      framework built on them, to any server.
    - `kind="function"`, sender: the `Tool` of an `MCPServer`, after all middleware, including
      `MCPServer.call_tool()` and `Tool.run()`. A low-level server has no tools, so the sender is
      the `Server`. The sender is also the `Server` if an extension intercepts calls.

    A blocked call returns a result that is marked as an error; in `Tool.run()` without
    `convert_result`, it raises `HookBlocked`. If the server asks for input and the client repeats
    the call, the hooks run again.

    Not covered: answers of middleware that do not call the tool, resources and prompts.

    Args:
        bus: the bus to declare the hooks on.
        client: whether to hook client sessions.
        server: whether to hook servers.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: a store for approvals; the server elicits the answer from the client's user.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Returns:
        A function that restores the SDK. A second call does nothing.

    Raises:
        HookError: if mcp is not installed, is incompatible, or already runs on hookbus; or if
            `client` and `server` are both False, or the bus has another approver.
    """
    if not (client or server):
        raise HookError("client=False and server=False hook nothing: set one of them to True")
    without = *(() if client else ("mcp:",)), *(() if server else ("mcp.server",))
    return _ADAPTER.install_with(
        bus, say=say, approver=approver, untested=untested, without=without
    )


class Guarded:
    """Middleware that guards one server, without patching the SDK.

        server = MCPServer("shop", middleware=[Guarded(bus)])

    The middleware covers every call over the protocol. The sender is this object. It does not cover
    direct calls to `MCPServer.call_tool()` and `Tool.run()`. Put this middleware last, because it
    does not see changes that later middleware makes to the arguments. Do not use it together with
    `install(server=True)`, because the hooks would run twice.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Raises:
        HookError: if mcp is not installed or has an unsupported version.
    """

    def __init__(
        self, bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
        untested: Untested = "check",
    ) -> None:  # fmt: skip
        self._gate = _ADAPTER.gate(bus, say=say, untested=untested)

    async def __call__(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        params = ctx.params if isinstance(ctx.params, Mapping) else {}
        if ctx.method != "tools/call" or not isinstance(params.get("name"), str):
            return await call_next(ctx)
        call = _call(params["name"], params.get("arguments"), ctx, tool=self)

        async def body(arguments: dict[str, Any]) -> Any:
            return await call_next(replace(ctx, params={**params, "arguments": arguments}))

        async def listed(page: dict[str, Any]) -> Any:
            meta = {"_meta": params["_meta"]} if "_meta" in params else {}
            return await call_next(replace(ctx, method="tools/list", params={**meta, **page}))

        return await _answered(self._gate, call, body, listed)


# -- results ---------------------------------------------------------------------------------------


def _types() -> Any:
    return import_module("mcp.types")


def _is_result(raw: Any) -> bool:
    return isinstance(raw, _types().CallToolResult)


def _result(content: list[Any], structured_content: Any = None, is_error: bool = False) -> Any:
    given = {} if structured_content is None else {"structured_content": structured_content}
    return _types().CallToolResult(content=content, is_error=is_error, **given)


def _parts(result: Any) -> Parts:
    return Parts(result.content, result.structured_content, result.is_error)


def _read(raw: Any) -> Any:
    """Return the result of a low-level handler or middleware, parsed if it is a mapping."""
    is_wire = isinstance(raw, Mapping) and "content" in raw
    return _types().CallToolResult.model_validate(raw) if is_wire else raw


def _shown(raw: Any) -> Any:
    result = _read(raw)
    if _is_result(result):
        return shown(result)
    dump = getattr(result, "model_dump", None)  # a question of the server instead of a result
    return result if dump is None else dump(mode="json", by_alias=True, exclude_none=True)


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if call.context is _BARE:
        return value
    result = _read(raw)
    if raw is not None and not _is_result(result):
        is_question = hasattr(raw, "model_validate") and isinstance(value, Mapping)
        return type(raw).model_validate(value) if is_question else _result(*parts(None, value))
    return _result(*parts(result, value, getattr(call.tool, "output_schema", None)))


def _refused(refused: Refusal) -> Any:
    if refused.call.context is _BARE:
        raise refused.blocked
    return _result([_types().TextContent(type="text", text=refused.text)], is_error=True)


# -- clients ---------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "mcp", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.mcp",
)  # fmt: skip
_ADAPTER.pauses("mcp:UrlElicitationRequiredError")
_ADAPTER.asks(BY_ELICITATION)
_ADAPTER.tool("mcp:ClientSession.call_tool", arguments="arguments", kind="mcp")


@_ADAPTER.wrap("mcp:ClientSession.list_tools")
async def _list_tools(gate: Gate, stock: Any, session: Any, *args: Any, **kwargs: Any) -> Any:
    """Record the parameters of a session's tools after the session has listed the tools."""
    found = await stock(session, *args, **kwargs)
    for tool in found.tools:
        note_schema(session, tool.name, tool.input_schema, tool.description)
    return found


# -- MCPServer -------------------------------------------------------------------------------------


def _called(stock: Any, server: Any, name: str, arguments: Any, context: Any = None) -> Any:
    tool = server._tool_manager.get_tool(name)
    ctx = context and context._request_context
    # An override may have its own tools; the SDK's method knows every tool it can call.
    is_stock = stock.__module__.startswith("mcp.server.")
    kind = "unknown" if tool is None and is_stock else "function"
    call = _call(name, arguments, ctx, tool or server, kind=kind)
    return call, lambda changed: stock(server, name, changed, context)


def _run(stock: Any, tool: Any, arguments: Any, context: Any, convert_result: bool = False) -> Any:
    ctx = context and context._request_context
    call = _call(tool.name, arguments, ctx, tool, is_converted=convert_result)
    return call, lambda changed: stock(tool, changed, context, convert_result=convert_result)


def _call(
    name: str, arguments: Any, ctx: Any, tool: Any, *, is_converted: bool = True,
    kind: str = "function",
) -> ToolCall:  # fmt: skip
    number = None if ctx is None or ctx.request_id is None else str(ctx.request_id)
    # A program that does not need MCP's results gets the return value of the tool's function.
    wire = None if ctx is None else Wire.of(ctx)
    context = wire if is_converted else _BARE
    return ToolCall(name, dict(arguments or ()), number, kind, tool, context=context)


_ADAPTER.tool("mcp.server.mcpserver:MCPServer.call_tool", _called)
_ADAPTER.tool("mcp.server.mcpserver.tools:Tool.run", _run, layer=1)


# -- low-level servers -----------------------------------------------------------------------------


@_ADAPTER.wrap("mcp.server:Server.get_request_handler")
def _get_request_handler(gate: Gate, stock: Any, server: Any, method: str) -> Any:
    entry = stock(server, method)
    if method != "tools/call" or entry is None:
        return entry
    if isinstance(entry.handler, _Handler) or _has_tools(entry.handler, gate.patches.bus):
        return entry
    return replace(entry, handler=_Handler(gate, server, entry.handler))


def _has_tools(handler: Any, bus: Bus | None) -> bool:
    """Return whether a handler belongs to a server whose tools are hooked themselves."""
    owner = getattr(handler, "__self__", None)
    if isinstance(owner, import_module("mcp.server.mcpserver").MCPServer):
        return True
    is_fastmcp = any(f"{cls.__module__}.".startswith("fastmcp.") for cls in type(owner).__mro__)
    return is_fastmcp and bus is not None and Patches.runs_on("fastmcp", bus)


class _Handler:
    """The handler of a low-level server's tool calls."""

    def __init__(self, gate: Gate, server: Any, stock: Any) -> None:
        self._gate, self._server, self._stock = gate, server, stock

    async def __call__(self, ctx: Any, params: Any) -> Any:
        async def body(arguments: dict[str, Any]) -> Any:
            return await self._stock(ctx, params.model_copy(update={"arguments": arguments}))

        call = _call(params.name, params.arguments, ctx, tool=self._server)
        return await _answered(self._gate, call, body, functools.partial(self._listed, ctx))

    async def _listed(self, ctx: Any, page: dict[str, Any]) -> Any:
        entry = self._server.get_request_handler("tools/list")
        if entry is None:
            return {"tools": []}
        return await entry.handler(ctx, entry.params_type.model_validate(page))


async def _answered(
    gate: Gate, call: ToolCall, body: Callable[[dict[str, Any]], Any],
    listed: Callable[[dict[str, Any]], Awaitable[Any]],
) -> Any:  # fmt: skip
    """Make a call without a tool object. A changed result must match the schema that the server
    lists."""
    found: list[Any] = []

    async def kept(arguments: dict[str, Any]) -> Any:
        found.append(await body(arguments))
        return found[-1]

    result = await gate.run_async(call, kept)
    if any(result is each for each in found) or not _is_result(result) or result.is_error:
        return result
    schema = await _schema(call.name, listed)
    return result if schema is None else _result(*fitting(_parts(result), schema))


async def _schema(name: str, listed: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
    page: dict[str, Any] = {}
    while True:
        found = _types().ListToolsResult.model_validate(await listed(page), from_attributes=True)
        for tool in found.tools:
            if tool.name == name:
                return tool.output_schema
        if found.next_cursor is None:
            return None
        page = {"cursor": found.next_cursor}
