"""A server, plugins and a host for the tests of `hookbus mcp`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

SERVER = '''\
import asyncio, os, sys
from pathlib import Path
from fastmcp import Context, FastMCP

server = FastMCP("bank")

@server.tool
def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    with open("paid", "a") as file:
        file.write(f"{amount} to {to}\\n")
    return f"paid {amount} to {to}, pin-4711, {os.environ.get('BANK_KEY')}"

@server.tool
async def slow(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        Path("cancelled").touch()
        raise

@server.tool
async def count(ctx: Context) -> str:
    for number in range(3):
        await ctx.report_progress(number, 3)
    return "counted"

@server.tool
def die() -> str:
    os._exit(3)

@server.resource("note://one")
def note() -> str:
    return "a note"

@server.prompt
def ask(what: str) -> str:
    return f"say {what}"

if sys.argv[1:]:
    server.run("http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
server.run(show_banner=False)
'''

PLUGIN = '''\
from hookbus import Ask, Block, receives

print("printed by a plugin")

class Rules:
    @receives("pre_tool_call", role="guard")
    def nothing_to_eve(self, tool, name, arguments):
        if arguments.get("amount", 0) > 100:
            return Ask("may it be so much?")
        return Block("nothing goes to eve") if arguments.get("to") == "eve" else None

    @receives("post_tool_call", on_error="block")
    def no_pins(self, tool, result):
        return str(result).replace("pin-4711", "****") if "pin" in str(result) else None

def register(api):
    api.register(Rules())
'''

OBSERVER = '''\
from hookbus import receives

class Watch:
    @receives("pre_tool_call", role="observe")
    def look(self, tool, name):
        pass

def register(api):
    api.register(Watch())
'''


class Bank:
    """A folder with the server and the plugins `rules` (guards, and redacts), `guards` and
    `watch`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bank.py").write_text(SERVER)
        guard = PLUGIN.replace('on_error="block"', 'role="guard"')
        for name, source in (("rules", PLUGIN), ("guards", guard), ("watch", OBSERVER)):
            (folder / name).mkdir()
            (folder / name / "plugin.py").write_text(source)
            (folder / name / "hookbus-plugin.toml").write_text(
                f'format = 1\nid = "{name}"\nversion = "1.0"\n'
                'hooks = ["pre_tool_call", "post_tool_call"]\n'
            )

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "BANK_KEY": "key-1"}

    @property
    def paid(self) -> list[str]:
        file = self.folder / "paid"
        return file.read_text().splitlines() if file.exists() else []

    def words(self, *options: str, server: Any = ()) -> list[str]:
        """Return the words that start a proxy with the plugin `rules`."""
        server = server or (sys.executable, "bank.py")
        return ["-m", "hookbus", "mcp", *options, "./rules", "--", *server]

    def host(self, *options: str, mode: str = "legacy", server: Any = ()) -> Client[Any]:
        """Return a host that starts the proxy and speaks with it over stdio."""
        return Client(StdioTransport(
            sys.executable, self.words(*options, server=server), cwd=str(self.folder),
            env=self.environment, keep_alive=False,
        ), mode=mode)  # fmt: skip


async def call(host: Any, name: str, **arguments: Any) -> tuple[bool, str]:
    """Return whether a model reads an error, and what it reads."""
    found = await host.call_tool(name, arguments, raise_on_error=False)
    return found.is_error, "".join(block.text for block in found.content)
