"""The self-test of the MCP adapter, which calls a tool of an in-process server."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async mcp.client.session:ClientSession.call_tool(self, name, arguments, *, request_state, meta)
async mcp.client.session:ClientSession.list_tools(self, *, params)
async mcp.server.mcpserver.server:MCPServer.call_tool(self, name, arguments, context)
async mcp.server.mcpserver.tools.base:Tool.run(self, arguments, context, convert_result)
mcp.server.lowlevel.server:Server.get_request_handler(self, method)
"""


def sample(pay: Pay) -> Sample:
    """Create a server whose tool is called by a client over the protocol, and by a program."""
    server = import_module("mcp.server").MCPServer("self-test")
    server.add_tool(functions_of(pay)[0], name=NAME, description="Pay.")

    async def call_over_the_protocol(amount: int, to: str) -> Any:
        async with import_module("mcp").Client(server) as client:
            return await client.call_tool(NAME, {"amount": amount, "to": to})

    async def call_tool(amount: int, to: str) -> Any:
        return await server.call_tool(NAME, {"amount": amount, "to": to})

    def refused(given: Any) -> str:
        return "".join(block.text for block in given.content) if given.is_error else ""

    ways = {
        "ClientSession.call_tool": call_over_the_protocol, "MCPServer.call_tool": call_tool,
    }  # fmt: skip
    return Sample(ways, refused)
