"""Strands: what is injected, and tools that do not exist."""

from __future__ import annotations

from typing import Any

from strands import Agent, ToolContext, tool
from strands.interrupt import Interrupt, InterruptException

from hookbus.adapters import strands

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_strands_contract import Scripted, asks, tool_of
from .tool_contract import ANN


def given_context(wallet: Any) -> Any:
    @tool(context=True)
    def pay(amount: int, to: str, tool_context: ToolContext, agent: Any = None) -> str:
        """Pay a recipient."""
        return wallet(amount, to, tool_context.invocation_state["own"], tool_context.agent.name)

    return pay


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(strands.install)

    def inject(self, wallet: Wallet) -> None:
        agent = Agent(Scripted([asks("pay", ANN)], "done"), tools=[given_context(wallet)],
                      callback_handler=None)  # fmt: skip
        agent("go", invocation_state={"own": HIDDEN})

    def ask_for_fly(self) -> str:
        model = Scripted([asks("fly", {"to": "moon"})], "done")
        Agent(model, tools=[tool_of(Wallet())], callback_handler=None)("go")
        return str(model.read[-1][-1]["content"][0]["toolResult"]["content"][0]["text"])


class TestDirectCalls(InjectedContract):
    """A program calls `agent.tool.pay`, and brings the agent along."""

    install = staticmethod(strands.install)

    def inject(self, wallet: Wallet) -> None:
        @tool
        def pay(amount: int, to: str, agent: Any) -> str:
            """Pay a recipient."""
            return wallet(amount, to, agent.own)

        agent = Agent(Scripted("done"), tools=[pay], callback_handler=None)
        agent.own = HIDDEN
        agent.tool.pay(**ANN, agent=agent, record_direct_tool_call=False)


class TestPauses(PauseContract):
    install = staticmethod(strands.install)
    pauses = {"interrupt": lambda: InterruptException(Interrupt("1", "may it?", "why"))}

    def pause(self, body: Any) -> Any:
        @tool
        def pay(amount: int, to: str) -> str:
            """Pay a recipient."""
            return body()

        agent = Agent(Scripted([asks("pay", ANN)], "done"), tools=[pay], callback_handler=None)
        found = agent("go")
        return found.stop_reason, [each.name for each in found.interrupts or ()]
