"""AgentScope 2's tools under the contract: by an agent, whole and in events, by a program."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, ToolCallBlock, ToolResultBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, ToolChunk, Toolkit, ToolMiddlewareBase
from pydantic import BaseModel

from hookbus.adapters import agentscope2

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="")


class Scripted(ChatModelBase):
    """Asks for the calls, and says "done" once it was told their results."""

    class Parameters(BaseModel):
        pass

    def __init__(self, calls: Any) -> None:
        credential = OpenAICredential(api_key="none")
        super().__init__(credential, "scripted", self.Parameters(), stream=False)
        self.formatter = OpenAIChatFormatter()
        self.calls, self.asked = calls, 0

    async def _call_api(self, model_name: str, messages: Any, *args: Any, **more: Any) -> Any:
        self.asked += 1
        if self.asked > 1:
            return ChatResponse([TextBlock(text="done")], is_last=True)
        return ChatResponse([
            ToolCallBlock(id=f"call-{i}", name="pay", input=json.dumps(args))
            for i, args in enumerate(self.calls)
        ], is_last=True)  # fmt: skip

    async def count_tokens(self, *args: Any, **more: Any) -> int:
        return 1


class Allowed(FunctionTool):
    """A function that needs nobody's permission."""

    async def check_permissions(self, *args: Any, **more: Any) -> PermissionDecision:
        return ALLOWED


def tool_of(body: Any, **options: Any) -> ToolBase:
    def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        return body(amount, to)

    return Allowed(pay, **options)


def text_of(output: Any) -> str:
    return output if isinstance(output, str) else "".join(block.text for block in output)


class TestAgentScope2(ToolContract):
    adapter, package, module = "agentscope2", "agentscope", "agentscope"
    install = staticmethod(agentscope2.install)

    def _agent(self, tool: ToolBase, calls: Any) -> Agent:
        return Agent("clerk", "Pay.", Scripted(calls), Toolkit(tools=[tool]))

    def _told(self, agent: Agent, left: Any) -> Told:
        blocks = [block for msg in agent.state.context for block in msg.content]
        results = sorted(
            (block for block in blocks if isinstance(block, ToolResultBlock)),
            key=lambda block: int(block.id.partition("-")[2]),
        )
        done = agent.state.context[-1].get_text_content() or ""
        return Told([text_of(block.output) for block in results],
                    repr((agent.state, left)), done.endswith("done"))  # fmt: skip

    async def _run(self, tool: ToolBase, calls: Any) -> Told:
        agent = self._agent(tool, calls)
        return self._told(agent, await agent.reply(UserMsg("user", "go")))

    @mode
    async def agent(self, body, calls):
        return await self._run(tool_of(body), calls)

    @mode
    async def agent_in_events(self, body, calls):
        agent = self._agent(tool_of(body), calls)
        events = [event async for event in agent.reply_stream(UserMsg("user", "go"))]
        return self._told(agent, events)

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        async def pay(amount: int, to: str) -> str:
            """Pay somebody."""
            await asyncio.sleep(0)
            return body(amount, to)

        return await self._run(Allowed(pay), calls)

    @mode
    async def agent_with_a_tool_that_gives_parts(self, body, calls):
        async def pay(amount: int, to: str) -> Any:
            """Pay somebody."""
            block = TextBlock(text="")
            yield ToolChunk(content=[block], is_last=False)
            yield ToolChunk(content=[TextBlock(id=block.id, text=body(amount, to))])

        return await self._run(Allowed(pay), calls)

    @mode
    async def agent_with_a_tool_of_its_own_class(self, body, calls):
        return await self._run(Paying(body), calls)

    @mode
    async def agent_with_middlewares_of_the_tool(self, body, calls):
        return await self._run(tool_of(body, middlewares=[PassesOn()]), calls)

    @mode
    async def called_by_a_program(self, body, calls):
        tool = tool_of(body)
        found = await asyncio.gather(*(tool(**args) for args in calls))
        return Told([text_of(chunk.content) for chunk in found], repr(found))


class PassesOn(ToolMiddlewareBase):
    async def on_tool_call(self, tool: Any, input_kwargs: Any, next_handler: Any) -> Any:
        async for chunk in next_handler(**input_kwargs):
            yield chunk


class Paying(Allowed):
    """A tool that gives parts by itself, whose `call` calls its parent's."""

    def __init__(self, body: Any) -> None:
        def pay(amount: int, to: str) -> str:
            """Pay somebody."""
            return body(amount, to)

        super().__init__(pay)

    async def call(self, **given: Any) -> Any:
        yield await super().call(**given)
