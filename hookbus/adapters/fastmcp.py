"""FastMCP: every call of a server's tool through hooks of hookbus."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._mcp_results import Parts, fitting, parts, shown
from ._newer import Untested, in_place_of, patches_of
from ._patches import Between, Uninstall, exceptions, named_options
from ._tools import Gate, Refusal, Results, ToolCall
from ._unknown import call_of
from ._vocabulary import refusal

SUPPORTED: Final = Between("4.0.0", "4.2.3")

PASSES: Final = ("mcp:UrlElicitationRequiredError",)
"""What hands control back to the framework, and is no failure of a call."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Let the tools of FastMCP's servers run on hookbus, those there are and those to come.

    `tool_call` (sender: the `Tool`) is every run of a tool, behind all middleware: over the
    protocol, by `FastMCP.call_tool()`, also with `run_middleware=False`, and by `Tool.run()`. A
    refused call is a result marked as error. `kind` is `"mcp"` where a tool hands the call on, to a
    mounted server or over a proxy, and else `"function"`.

    A tool that stands in front of another is a place of its own, inside whose call the other's is
    told: a transformed tool, and one of a mounted server that has another name there. A server
    mounted under the same names is asked once, at its own tools.

    Calls that a `fastmcp.Client` makes are those of the SDK: `adapters.mcp.install(server=False)`.
    With both sides of that adapter, a server of FastMCP is asked at its tools alone.

    Not heard: what middleware or an extension answers by itself, such as a cache; a subclass of
    `FastMCP` that overrides `call_tool` and runs no `Tool`; resources and prompts.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        untested: what to do on a release that is newer than those tested: `"check"` looks for what
            is replaced and calls a tool on a private bus, `"refuse"` raises.

    Returns:
        A function that puts FastMCP back as it was; twice is once.

    Raises:
        HookError: if fastmcp is not installed, does not fit, or runs on hookbus already.
    """
    with patches_of("fastmcp", "fastmcp", SUPPORTED, untested, install) as patches:
        gate = Gate(patches, bus, RESULTS, say=say, passes=exceptions(*PASSES))
        tool = import_module("fastmcp.tools").Tool
        gate.seam(tool, "_run", _run)
        gate.seam(tool, "run", _run, layer=1)
        server = import_module("fastmcp").FastMCP
        patches.wrap(server, "call_tool", functools.partial(_unknown, gate))
        patches.wrap(_mounted(), "_run", _handed_on)
        patches.wrap(_mounted(), "run", _handed_on)
    return patches.restore


def guarded(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Any:  # fmt: skip
    """Return middleware of a server, for people who will not patch.

        server = FastMCP("shop", middleware=[guarded(bus)])

    It hears every call that comes through the middleware of that server; the sender is this object.
    Not heard: `Tool.run()`, `call_tool(run_middleware=False)`, and what middleware behind it makes
    of the arguments; put it last. It is beside `install` too much: both would ask.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        untested: what to do on a release that is newer than those tested: `"check"` looks for what
            is replaced and calls a tool on a private bus, `"refuse"` raises.

    Raises:
        HookError: if fastmcp is not installed or does not fit.
    """
    patches = in_place_of("fastmcp", "fastmcp", SUPPORTED, untested, install)
    passes = exceptions(*PASSES)
    gate = Gate(patches, bus, RESULTS, say=say, passes=passes)

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


# -- tools -----------------------------------------------------------------------------------------


def _run(stock: Any, tool: Any, arguments: Any, *args: Any, **kwargs: Any) -> Any:
    kind = "mcp" if isinstance(tool, (_mounted(), _proxy())) else "function"
    call = ToolCall(tool.name, dict(arguments or ()), _number(), kind, tool)
    return call, lambda changed: stock(tool, changed, *args, **kwargs)


def _unknown(gate: Gate, owner: type, stock: Any) -> Any:
    """Have calls of tools that a server does not have be heard, behind its middleware."""
    missing = import_module("fastmcp.exceptions").NotFoundError

    @functools.wraps(stock)
    async def call_tool(server: Any, name: str, arguments: Any = None, **options: Any) -> Any:
        if options.get("run_middleware", True):
            return await stock(server, name, arguments, **options)
        try:
            return await stock(server, name, arguments, **options)
        except missing as error:
            if str(error) != f"Unknown tool: {name!r}":
                raise
            raised = error

        async def body(arguments: dict[str, Any]) -> Any:
            raise raised

        call = call_of(name, arguments or {}, _number(), server, None)
        return await gate.run_async(call, body)

    return call_tool


def _handed_on(owner: type, seam: Any) -> Any:
    """Leave a call to a mounted server's tool, where that has the same name: it is asked there."""

    async def run(tool: Any, arguments: Any) -> Any:
        is_alias = tool.name != tool._original_name
        return await (seam if is_alias else seam.__wrapped__)(tool, arguments)

    return run


def _mounted() -> Any:
    return import_module("fastmcp.server.providers.fastmcp_provider").FastMCPProviderTool


def _proxy() -> Any:
    return import_module("fastmcp.server.providers.proxy").ProxyTool


def _number() -> str | None:
    """Return the number of the request that is answered, None where a program calls."""
    try:
        return str(import_module("fastmcp.server.dependencies").get_context().request_id)
    except RuntimeError:
        return None


# -- results ---------------------------------------------------------------------------------------


def _tools() -> Any:
    return import_module("fastmcp.tools.base")


def _result(given: Parts) -> Any:
    return _tools().ToolResult(given.content, given.structured_content, is_error=given.is_error)


def _shown(raw: Any) -> Any:
    question = getattr(raw, "input_required", None)  # of the server, in place of a result
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


RESULTS: Final = Results(_shown, _packed, _refused)
