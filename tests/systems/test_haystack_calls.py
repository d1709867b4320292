"""Haystack: what an agent takes from its state, and tools that do not exist."""

from __future__ import annotations

from typing import Any

from haystack.components.agents import Agent, State
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.dataclasses import ToolCall as Asked
from haystack.tools import Tool

from hookbus.adapters import haystack

from .call_contract import HIDDEN, InjectedContract, UnknownContract, Wallet
from .test_haystack_contract import GO, PARAMETERS, scripted, tool_of
from .tool_contract import ANN


class Key:
    def __repr__(self) -> str:
        return HIDDEN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(haystack.install)

    def agent(self, wallet: Any) -> Agent:
        def pay(amount: int, to: str, key: Key, state: State) -> str:
            return wallet(amount, to, key, state)

        tool = Tool("pay", "Pay.", PARAMETERS, pay, inputs_from_state={"secret": "key"})
        return Agent(chat_generator=scripted([ANN]), tools=[tool],
                     state_schema={"secret": {"type": Key}})  # fmt: skip

    def inject(self, wallet: Wallet) -> Any:
        self.agent(wallet).run(GO, secret=Key())

    def ask_for_fly(self) -> str:
        asked = ChatMessage.from_assistant(tool_calls=[Asked("fly", {"to": "moon"}, id="1")])
        model = MockChatGenerator([asked, "done"])
        out = Agent(chat_generator=model, tools=[tool_of(Wallet())]).run(GO)
        return str(next(each.tool_call_result.result for each in out["messages"]
                        if each.tool_call_result))  # fmt: skip

    def test_what_a_model_forges_stays_an_argument(self, bus):
        wallet, seen = Wallet(), []
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(dict(arguments)), role="observe", name="look"
        )
        agent = self.agent(wallet)
        agent.chat_generator = scripted([{**ANN, "key": "forged"}])
        agent.run(GO, secret=Key())
        assert seen == [{**ANN, "key": "forged"}] and wallet.injected[0][0] == "forged"


class TestCallsAsync(TestCalls):
    async def inject(self, wallet: Wallet) -> None:
        await self.agent(wallet).run_async(GO, secret=Key())


class TestUnknownThatRaises(UnknownContract):
    install = staticmethod(haystack.install)

    def ask_for_fly(self) -> str:
        asked = ChatMessage.from_assistant(tool_calls=[Asked("fly", {"to": "moon"}, id="1")])
        agent = Agent(chat_generator=MockChatGenerator([asked, "done"]), tools=[tool_of(Wallet())],
                      raise_on_tool_invocation_failure=True)  # fmt: skip
        try:
            return str(agent.run(GO))
        except Exception as error:
            return str(error)
