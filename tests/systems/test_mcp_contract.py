"""The MCP SDK's tool calls under the contract: at the client, at the server, at both in one
process, and by the middleware that needs no patch."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from mcp import Client, ClientSession, types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool

from hookbus.adapters import mcp

from .mcp_parts import RECEIPT, low_level, server_of, text_of
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


async def told(*calls: Any) -> Told:
    """Make the calls that a model wants, at once; it reads the text of each result."""
    found = await asyncio.gather(*calls)
    return Told([text_of(each) for each in found], repr(found))


async def over(server: Any, calls: Any, **options: Any) -> Told:
    async with Client(server, **options) as client:
        return await told(*(client.call_tool("pay", dict(args)) for args in calls))


class Clients(ToolContract):
    """Every way over the protocol."""

    package = module = adapter = "mcp"
    middleware: Any = ()

    @mode
    async def client(self, body, calls):
        return await over(server_of(body, middleware=self.middleware), calls)

    @mode
    async def client_of_an_older_protocol(self, body, calls):
        return await over(server_of(body, middleware=self.middleware), calls, mode="legacy")

    @mode
    async def client_of_a_low_level_server(self, body, calls):
        return await over(low_level(body, middleware=self.middleware), calls)

    @mode
    async def client_of_a_tool_with_a_schema(self, body, calls):
        return await over(low_level(body, RECEIPT, self.middleware), calls)


class TestClient(Clients):
    unnamed = (*(name for name in vars(Clients) if name.startswith("client")),
               "client_with_a_session_of_its_own_class")  # fmt: skip
    install = staticmethod(partial(mcp.install, server=False))
    kinds = dict.fromkeys([*unnamed, "client_that_has_listed_the_tools"], "mcp")

    @mode
    async def client_with_a_session_of_its_own_class(self, body, calls):
        class Session(ClientSession):
            async def call_tool(self, name: str, *args: Any, **kwargs: Any) -> Any:
                return await super().call_tool(name, *args, **kwargs)

        async with Client(server_of(body)) as client:
            client.session.__class__ = Session
            return await told(*(client.call_tool("pay", dict(args)) for args in calls))

    @mode
    async def client_that_has_listed_the_tools(self, body, calls):
        async with Client(server_of(body)) as client:
            await client.list_tools()
            return await told(*(client.call_tool("pay", dict(args)) for args in calls))


class OwnServer(MCPServer):
    """A server that has a way of its own to call what it has."""

    async def call_tool(self, name: str, arguments: Any, context: Any = None) -> Any:
        return await super().call_tool(name, arguments, context)


class Bare(MCPServer):
    """A server whose calls go past its tools."""

    body: Any

    async def call_tool(self, name: str, arguments: Any, context: Any = None) -> Any:
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=self.body(**arguments))]
        )


class TestServer(Clients):
    unnamed = ("client_of_a_low_level_server", "client_of_a_tool_with_a_schema",
               "server_without_tools")  # fmt: skip
    program = ("tool_run",)
    install = staticmethod(partial(mcp.install, client=False))

    @mode
    async def server_that_overrides(self, body, calls):
        return await over(server_of(body, OwnServer), calls)

    @mode
    async def server_without_tools(self, body, calls):
        server = Bare("bank")
        server.body = body
        return await told(*(server.call_tool("pay", dict(args)) for args in calls))

    @mode
    async def server_in_the_process(self, body, calls):
        server = server_of(body)
        return await told(*(server.call_tool("pay", dict(args)) for args in calls))

    @mode
    async def tool_run(self, body, calls):
        def pay(amount: int, to: str) -> str:
            return body(amount, to)

        tool, context = Tool.from_function(pay), Context()
        running = (tool.run(dict(args), context) for args in calls)
        found = await asyncio.gather(*running, return_exceptions=True)
        return Told([str(each) for each in found], repr(found))


class TestMiddleware(Clients):
    """`Guarded` in front of each server; nothing of the SDK is changed."""

    unnamed = ("*",)

    def install(self, bus, **options):
        self.middleware = [mcp.Guarded(bus, **options)]
        return lambda: None

    test_uninstall_leaves_no_trace_and_nobody_is_asked = None
    test_installing_twice_and_an_unknown_version_are_refused = None
