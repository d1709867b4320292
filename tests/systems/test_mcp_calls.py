"""MCP's SDK: what is injected, and tools that do not exist."""

from __future__ import annotations

from mcp import UrlElicitationRequiredError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from hookbus.adapters import mcp

from .call_contract import (  # noqa: F401
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .mcp_parts import server_of
from .tool_contract import ANN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(lambda bus: mcp.install(bus, client=False))

    def is_reached(self, injected):
        return isinstance(injected[0], Context)

    async def inject(self, wallet: Wallet) -> None:
        server = MCPServer("bank")

        def pay(amount: int, to: str, context: Context) -> str:
            """Pay a recipient."""
            return wallet(amount, to, context)

        pay.__annotations__.update(amount=int, to=str, context=Context)
        server.tool()(pay)
        await server.call_tool("pay", ANN)

    async def ask_for_fly(self) -> str:
        try:
            return str(await server_of(Wallet()).call_tool("fly", {"to": "moon"}))
        except Exception as error:
            return str(error)


class TestPauses(PauseContract):
    install = staticmethod(lambda bus: mcp.install(bus, client=False))
    pauses = {"elicitation": lambda: UrlElicitationRequiredError([])}

    async def pause(self, body):
        server = MCPServer("bank")

        @server.tool()
        def pay(amount: int, to: str) -> str:
            return body()

        return await server.call_tool("pay", ANN)
