"""AgentScope 2: what is injected, and tools that do not exist."""

from __future__ import annotations

import json
from typing import Any

from agentscope.message import TextBlock, ToolCallBlock, ToolResultBlock, UserMsg
from agentscope.model import ChatResponse
from agentscope.tool import ToolChunk

from hookbus.adapters import agentscope2

from .call_contract import HIDDEN, InjectedContract, UnknownContract, Wallet
from .test_agentscope2_contract import Scripted, agent_of, text_of, tool_of
from .tool_contract import ANN


class Asking(Scripted):
    async def _call_api(self, *args: Any, **more: Any) -> Any:
        self.read.append("")
        asked = ToolCallBlock(id="call-1", name="fly", input=json.dumps({"to": "moon"}))
        return ChatResponse([TextBlock(text="done") if len(self.read) > 1 else asked], is_last=True)


class Stateful(type(tool_of(Wallet()))):  # type: ignore[misc]
    """A tool that is given the state of its agent."""

    is_state_injected = True


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(agentscope2.install)

    async def inject(self, wallet: Wallet) -> None:
        def pay(amount: int, to: str, _agent_state: Any) -> ToolChunk:
            """Pay a recipient."""
            return ToolChunk(content=[TextBlock(text=wallet(amount, to, _agent_state))])

        tool = Stateful(pay, is_state_injected=True)
        agent = agent_of(Scripted([ANN]), tool)
        await agent.reply(UserMsg("user", HIDDEN))

    async def ask_for_fly(self) -> str:
        agent = agent_of(Asking(), tool_of(Wallet()))
        await agent.reply(UserMsg("user", "go"))
        blocks = [block for msg in agent.state.context for block in msg.content]
        return text_of(next(each for each in blocks if isinstance(each, ToolResultBlock)).output)


