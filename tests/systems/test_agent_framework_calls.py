"""Agent Framework: what is injected, and tools that do not exist."""

from __future__ import annotations

from agent_framework import (
    Agent,
    Content,
    FunctionInvocationContext,
    FunctionTool,
    MiddlewareTermination,
)
from agent_framework._middleware import MiddlewareFailure
from agent_framework.exceptions import UserInputRequiredException

from hookbus.adapters import agent_framework

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_agent_framework_contract import Scripted, asks, tool_of
from .tool_contract import ANN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(agent_framework.install)

    async def inject(self, wallet: Wallet) -> None:
        def pay(amount: int, to: str, ctx: FunctionInvocationContext) -> str:
            return wallet(amount, to, ctx.kwargs)

        pay.__annotations__.update(amount=int, to=str, ctx=FunctionInvocationContext)
        tool = FunctionTool(name="pay", description="Pay.", func=pay)
        agent = Agent(Scripted([asks("pay", ANN)], "done"), tools=[tool])
        await agent.run("go", function_invocation_kwargs={"own": HIDDEN})

    async def ask_for_fly(self) -> str:
        client = Scripted([asks("fly", {"to": "moon"})], "done")
        await Agent(client, tools=[tool_of(Wallet())]).run("go")
        return str(client.read[-1][-1].contents[0].result)


class TestPauses(PauseContract):
    install = staticmethod(agent_framework.install)
    pauses = {
        "input": lambda: UserInputRequiredException([Content.from_text("which account?")]),
        "termination": lambda: MiddlewareTermination("that is all"),
        "failure": lambda: MiddlewareFailure("stop everything"),
    }

    async def pause(self, body) -> str:
        def pay(amount: int, to: str) -> str:
            return body()

        pay.__annotations__.update(amount=int, to=str)
        tool = FunctionTool(name="pay", description="Pay.", func=pay)
        client = Scripted([asks("pay", ANN)], "done")
        found = await Agent(client, tools=[tool]).run("go")
        return f"{len(client.read)} {found.text}"
