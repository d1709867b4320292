"""A client and a server of FastMCP, in one process."""

import asyncio

from fastmcp import Client, FastMCP
from receivers import WISHES, read, tell

from hookbus import adapters


async def main():
    server = FastMCP("files")
    server.tool(read)
    async with Client(server) as client:
        results = [await client.call_tool("read", wish, raise_on_error=False) for wish in WISHES]
    return [result.content[0].text for result in results]


adapters.fastmcp.install()
tell(lambda: asyncio.run(main()))
