"""The self-test of the FastMCP adapter, which calls a tool of an in-process server."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async fastmcp.server.providers.fastmcp_provider:FastMCPProviderTool._run(self, arguments)
async fastmcp.server.providers.fastmcp_provider:FastMCPProviderTool.run(self, arguments)
async fastmcp.server.server:FastMCP.call_tool(self, name, arguments, *, version, run_middleware)
async fastmcp.tools.base:Tool._run(self, arguments)
async fastmcp.tools.base:Tool.run(self, arguments)
"""


def sample(pay: Pay) -> Sample:
    """Create a server whose tool is called by a client over the protocol, and by a program."""
    fastmcp = import_module("fastmcp")
    cls = import_module("fastmcp.tools").FunctionTool
    tool = cls.from_function(functions_of(pay)[0], name=NAME)
    server = fastmcp.FastMCP("self-test")
    server.add_tool(tool)

    async def call_tool(amount: int, to: str) -> Any:
        arguments = {"amount": amount, "to": to}
        async with fastmcp.Client(server) as client:
            return await client.call_tool(NAME, arguments, raise_on_error=False)

    async def run(amount: int, to: str) -> Any:
        return await tool.run({"amount": amount, "to": to})

    def refused(given: Any) -> str:
        return "".join(block.text for block in given.content) if given.is_error else ""

    return Sample({"Tool._run": call_tool, "Tool.run": run}, refused)
