"""A client and a server of the MCP SDK in one process, with hooks on the server's calls."""

import asyncio

from mcp import Client
from mcp.server import MCPServer
from receivers import REQUESTS, print_results, read

from hookbus import adapters


async def main():
    server = MCPServer("files")
    server.tool()(read)
    async with Client(server) as client:
        results = [await client.call_tool("read", request) for request in REQUESTS]
    return [result.content[0].text for result in results]


adapters.mcp.install(client=False)
print_results(lambda: asyncio.run(main()))
