"""LlamaIndex: what is injected, and tools that do not exist."""

from __future__ import annotations

import contextlib
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from hookbus.adapters import llama_index

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .llama_index_parts import DONE, QUIET, agent_of, asking, tool_of
from .tool_contract import ANN

pytestmark = QUIET


class Bank:
    def __repr__(self) -> str:
        return HIDDEN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(llama_index.install)

    async def inject(self, wallet: Wallet) -> None:
        async def pay(ctx: Context, amount: int, to: str, bank: Any = None) -> str:
            """Pay a recipient."""
            assert isinstance(ctx, Context)
            return wallet(amount, to, bank)

        pay.__annotations__.update(ctx=Context, amount=int, to=str, bank=object)
        tool = FunctionTool.from_defaults(async_fn=pay, partial_params={"bank": Bank()})
        await agent_of(asking("pay", ANN), DONE, tools=[tool]).run("go")

    async def ask_for_fly(self) -> str:
        agent = agent_of(asking("fly", {"to": "moon"}), DONE, tools=[tool_of(Wallet())])
        await self.runner(agent).run("go")
        return str(next(each.content for each in agent.llm.read if each.role == "tool"))

    def runner(self, agent: Any) -> Any:
        return agent


class TestWorkflow(UnknownContract):
    install = staticmethod(llama_index.install)
    ask_for_fly = TestCalls.ask_for_fly

    def runner(self, agent: Any) -> Any:
        agent.name = "clerk"
        return AgentWorkflow(agents=[agent], root_agent="clerk")


class TestPauses(PauseContract):
    """A tool that waits for an event runs again once it is there; here nobody sends one."""

    install = staticmethod(llama_index.install)
    pauses = {"event": lambda: None}

    async def pause(self, body: Any) -> Any:
        async def pay(ctx: Context, amount: int, to: str) -> str:
            """Pay a recipient."""
            with contextlib.suppress(TypeError):  # of raising None
                body()
            await ctx.wait_for_event(HumanResponseEvent, InputRequiredEvent())
            return "paid"

        pay.__annotations__.update(ctx=Context, amount=int, to=str)
        tool = FunctionTool.from_defaults(async_fn=pay)
        handler = agent_of(asking("pay", ANN), DONE, tools=[tool]).run("go")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        await handler.cancel_run()
        with contextlib.suppress(Exception):
            await handler
