"""Anthropic's SDK: ids of calls, and tools that do not exist."""

from __future__ import annotations

import pytest

from hookbus import Replace
from hookbus.adapters import anthropic

from .anthropic_parts import Model, async_tool_of, options, paying, tool_of
from .call_contract import UnknownContract, Wallet
from .tool_contract import ANN

pytestmark = pytest.mark.filterwarnings("ignore:Tool 'fly' not found:UserWarning")

FLY = ("fly", {"to": "moon"})


class TestCalls(UnknownContract):
    install = staticmethod(anthropic.install)

    def read(self, wallet, *calls):
        """Return what a model read of its calls."""
        model = Model(calls)
        model.client.beta.messages.tool_runner(**options(tool_of(wallet))).until_done()
        return model.read

    def ask_for_fly(self):
        return self.read(Wallet(), FLY)[0]

    def test_the_id_of_a_call_is_the_one_of_its_block(self, bus):
        seen = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, call_id: seen.append((name, call_id)), role="observe"
        )
        self.run(self.read, Wallet(), *paying([ANN]), FLY)
        tool_of(Wallet()).call(dict(ANN))
        assert seen == [("pay", "toolu_0"), ("fly", "toolu_1"), ("pay", None)]

    def test_a_tool_that_does_not_exist_can_be_answered_by_a_receiver(self, bus):
        bus.signal("pre_tool_call").connect(
            lambda sender: Replace("there is no moon"), when={"kind": "unknown"}
        )
        wallet = Wallet()
        read = self.run(self.read, wallet, *paying([ANN]), FLY)
        assert read == ["paid 1 to ann", "there is no moon"] and wallet.paid == [(1, "ann")]


class TestCallsAsync(TestCalls):
    async def read(self, wallet, *calls):
        model = Model(calls)
        runner = model.async_client.beta.messages.tool_runner(**options(async_tool_of(wallet)))
        await runner.until_done()
        return model.read

    async def ask_for_fly(self):
        return (await self.read(Wallet(), FLY))[0]
