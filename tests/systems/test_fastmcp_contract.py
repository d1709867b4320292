"""FastMCP's tool calls under the contract: over the protocol, in the process, through servers that
are mounted and tools in front of others, and by the middleware that needs no patch."""

from __future__ import annotations

import asyncio
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware.error_handling import RetryMiddleware
from fastmcp.tools import FunctionTool, Tool
from fastmcp.tools.tool_transform import ArgTransform

from hookbus.adapters import fastmcp

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


def tool_of(body: Any, cls: Any = FunctionTool, name: str = "pay") -> Any:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    return cls.from_function(pay, name=name)


def server_of(tool: Any, name: str = "bank", **options: Any) -> FastMCP:
    server = FastMCP(name, **options)
    server.add_tool(tool)
    return server


async def told(*calls: Any) -> Told:
    """Make the calls that a model wants, at once; it reads the text of each result."""
    found = await asyncio.gather(*calls)
    return Told(["\n".join(block.text for block in each.content) for each in found], repr(found))


async def over(server: Any, calls: Any, name: str = "pay") -> Told:
    async with Client(server) as client:
        return await told(
            *(client.call_tool(name, dict(args), raise_on_error=False) for args in calls)
        )


class OwnTool(FunctionTool):
    """A tool written as a class of its own, whose `run` calls its parent's."""

    async def run(self, arguments: dict[str, Any]) -> Any:
        return await super().run(arguments)


class OverTheServer(ToolContract):
    package = module = adapter = "fastmcp"
    middleware: Any = ()

    def server(self, body: Any, **options: Any) -> FastMCP:
        return server_of(tool_of(body, **options), middleware=self.middleware)

    @mode
    async def client(self, body, calls):
        return await over(self.server(body), calls)

    @mode
    async def in_the_process(self, body, calls):
        server = self.server(body)
        return await told(*(server.call_tool("pay", dict(args)) for args in calls))

    @mode
    async def a_class_that_overrides_run(self, body, calls):
        return await over(self.server(body, cls=OwnTool), calls)

    @mode
    async def a_server_that_retries(self, body, calls):
        server = self.server(body)
        retries = RetryMiddleware(base_delay=0.001, retry_exceptions=(Exception,))
        server.middleware.insert(0, retries)
        return await over(server, calls)

    @mode
    async def mounted(self, body, calls):
        outer = FastMCP("shop")
        outer.mount(self.server(body))
        return await over(outer, calls)

    @mode
    async def mounted_under_a_name(self, body, calls):
        outer = FastMCP("shop")
        outer.mount(self.server(body), namespace="bank")
        return await over(outer, calls, "bank_pay")


class TestFastMCP(OverTheServer):
    kinds = {"proxy": "mcp"}
    besides = {"mounted_under_a_name": 2, "transformed": 2}
    install = staticmethod(fastmcp.install)

    @mode
    async def without_middleware(self, body, calls):
        server = self.server(body)
        running = (server.call_tool("pay", dict(args), run_middleware=False) for args in calls)
        return await told(*running)

    @mode
    async def tool_run(self, body, calls):
        tool = tool_of(body)
        return await told(*(tool.run(dict(args)) for args in calls))

    @mode
    async def transformed(self, body, calls):
        changes = {"amount": ArgTransform(name="euros"), "to": ArgTransform(name="whom")}
        tool = Tool.from_tool(tool_of(body), name="give", transform_args=changes)
        renamed = [{"euros": args["amount"], "whom": args["to"]} for args in calls]
        return await over(server_of(tool), renamed, "give")

    @mode
    async def proxy(self, body, calls):
        from mcp.server import MCPServer  # of the SDK: its tools are not heard here

        backend = MCPServer("bank")

        @backend.tool()
        def pay(amount: int, to: str) -> str:
            return body(amount, to)

        return await over(create_proxy(backend), calls)


class TestMiddleware(OverTheServer):
    """`require_guard` in front of each server; nothing of FastMCP is changed."""

    unnamed = ("*",)

    def install(self, bus, **options):
        self.middleware = [fastmcp.guarded(bus, **options)]
        return lambda: None

    test_uninstall_leaves_no_trace_and_nobody_is_asked = None
    test_installing_twice_and_an_unknown_version_are_refused = None
