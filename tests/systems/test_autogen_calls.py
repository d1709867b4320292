"""AutoGen: what is injected, and tools that do not exist."""

from __future__ import annotations

from autogen_core import CancellationToken
from autogen_core.tools import FunctionTool, StaticWorkbench

from hookbus.adapters import autogen

from .call_contract import InjectedContract, UnknownContract, Wallet
from .test_autogen_contract import agent_of, asking, scripted, told, tool_of
from .tool_contract import ANN

FLY = {"to": "moon"}


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(autogen.install)

    def is_reached(self, injected):
        return isinstance(injected[0], CancellationToken)

    async def inject(self, wallet: Wallet) -> None:
        async def pay(amount: int, to: str, cancellation_token: CancellationToken) -> str:
            return wallet(amount, to, cancellation_token)

        pay.__annotations__.update(amount=int, to=str, cancellation_token=CancellationToken)
        tool = FunctionTool(pay, name="pay", description="Pay.")
        await agent_of(scripted(asking([ANN])), tool).run(task="go")

    async def ask_for_fly(self) -> str:
        agent = agent_of(scripted(asking([FLY], "fly")), tool_of(Wallet()))
        return str(told(await agent.run(task="go")).answers[0])


class TestWorkbench(UnknownContract):
    install = staticmethod(autogen.install)

    async def ask_for_fly(self) -> str:
        return (await StaticWorkbench([tool_of(Wallet())]).call_tool("fly", FLY)).to_text()
