"""FastMCP: what is injected, and tools that do not exist."""

from __future__ import annotations

from typing import Any

from fastmcp import Client, Context, FastMCP
from fastmcp.dependencies import Depends
from mcp import UrlElicitationRequiredError

from hookbus.adapters import fastmcp

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_fastmcp_contract import server_of, tool_of
from .tool_contract import ANN


def key() -> str:
    return HIDDEN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(fastmcp.install)

    async def inject(self, wallet: Wallet) -> None:
        server = FastMCP("bank")

        @server.tool
        def pay(amount: int, to: str, ctx: Context, own: str = Depends(key)) -> str:
            assert isinstance(ctx, Context)
            return wallet(amount, to, own)

        async with Client(server) as client:
            await client.call_tool("pay", ANN)

    async def ask_for_fly(self) -> str:
        async with Client(self.server()) as client:
            try:
                found = await client.call_tool("fly", {"to": "moon"}, raise_on_error=False)
                return str(found.content[0].text)
            except Exception as error:
                return str(error)

    def server(self) -> Any:
        return server_of(tool_of(Wallet()))


class TestMounted(UnknownContract):
    """A call that a server hands on is heard where nobody has the tool, once."""

    install = staticmethod(fastmcp.install)
    ask_for_fly = TestCalls.ask_for_fly

    def server(self) -> Any:
        outer = FastMCP("shop")
        outer.mount(server_of(tool_of(Wallet())))
        return outer


class TestPauses(PauseContract):
    install = staticmethod(fastmcp.install)
    pauses = {"elicitation": lambda: UrlElicitationRequiredError([])}

    async def pause(self, body: Any) -> Any:
        server = FastMCP("bank")

        @server.tool
        def pay(amount: int, to: str) -> str:
            return body()

        return await server.call_tool("pay", ANN)
