"""Servers and calls that the tests of MCP share."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client, types
from mcp.server import MCPServer, Server

from hookbus.adapters import mcp

PLAIN = {"type": "object", "properties": {"amount": {}, "to": {}}}


RECEIPT = {"type": "object", "required": ["receipt"], "properties": {"receipt": {"type": "string"}}}


def server_of(body: Any, cls: type[MCPServer] = MCPServer, **options: Any) -> MCPServer:
    server = cls("bank", **options)

    @server.tool()
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    return server


def low_level(body: Any, schema: Any = None, middleware: Any = ()) -> Server[Any]:
    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        if params is None or params.cursor is None:
            return types.ListToolsResult(tools=[], next_cursor="2")
        tool = types.Tool(name="pay", input_schema=PLAIN, output_schema=schema)
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        await asyncio.sleep(0)
        text = body(**params.arguments)
        structured = None if schema is None else {"receipt": text}
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=structured)

    server = Server("bank", on_list_tools=list_tools, on_call_tool=call_tool)
    server.middleware.extend(middleware)
    return server


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@pytest.fixture
def installed(bus):
    undo = mcp.install(bus)
    yield bus
    undo()


@pytest.fixture
def at_the_server(bus):
    undo = mcp.install(bus, client=False)
    yield bus
    undo()


@pytest.fixture
def at_the_client(bus):
    undo = mcp.install(bus, server=False)
    yield bus
    undo()


async def call(server: Any, name: str, /, mode: str = "auto", **arguments: Any) -> Any:
    async with Client(server, mode=mode) as client:
        return await client.call_tool(name, arguments)
