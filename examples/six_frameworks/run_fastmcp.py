"""A FastMCP client and server in one process."""

import asyncio

from fastmcp import Client, FastMCP
from receivers import REQUESTS, print_results, read

from hookbus import adapters


async def main():
    server = FastMCP("files")
    server.tool(read)
    async with Client(server) as client:
        results = [
            await client.call_tool("read", request, raise_on_error=False) for request in REQUESTS
        ]
    return [result.content[0].text for result in results]


adapters.fastmcp.install()
print_results(lambda: asyncio.run(main()))
