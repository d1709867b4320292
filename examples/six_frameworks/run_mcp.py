"""A client and a server of the MCP SDK, in one process: the server's calls are hooked."""

import asyncio

from mcp import Client
from mcp.server import MCPServer
from receivers import WISHES, read, tell

from hookbus import adapters


async def main():
    server = MCPServer("files")
    server.tool()(read)
    async with Client(server) as client:
        results = [await client.call_tool("read", wish) for wish in WISHES]
    return [result.content[0].text for result in results]


adapters.mcp.install(client=False)
tell(lambda: asyncio.run(main()))
