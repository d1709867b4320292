"""Pydantic AI's tools under the contract: of functions, of MCP servers, as output, in streams."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from pydantic_ai import (
    Agent,
    ModelRetry,
    RunContext,
    ToolOutput,
)
from pydantic_ai.capabilities import Hooks
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from hookbus.adapters import pydantic_ai

try:
    from mcp.server import MCPServer
except ImportError:  # the SDK before 2.0
    from mcp.server.fastmcp import FastMCP as MCPServer

from .tool_contract import (
    Told,
    ToolContract,
    mode,
    pytest_generate_tests,  # noqa: F401
)


def scripted(*asked: tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that asks for the calls, and says "done" once it was told their results."""

    def answer(messages, info):
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        return ModelResponse([
            ToolCallPart(name, dict(args), f"call-{i}") for i, (name, args) in enumerate(asked)
        ])  # fmt: skip

    async def stream(messages, info):
        if len(messages) > 1:
            yield "done"
            return
        yield {
            i: DeltaToolCall(name, json.dumps(args), tool_call_id=f"call-{i}")
            for i, (name, args) in enumerate(asked)
        }

    return FunctionModel(answer, stream_function=stream)


def paying(calls: Any, name: str = "pay") -> FunctionModel:
    return scripted(*[(name, args) for args in calls])


def told(messages: Any) -> Told:
    parts = [part for each in messages for part in each.parts]
    answers = sorted(
        (part for part in parts if isinstance(part, ToolReturnPart)),
        key=lambda part: int(part.tool_call_id.partition("-")[2]),
    )
    return Told([part.model_response_str() for part in answers], repr(messages),
                getattr(parts[-1], "content", None) == "done")  # fmt: skip


def plain(body: Any) -> Any:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    return pay


def server(body: Any) -> MCPToolset:
    made = MCPServer("bank")
    made.tool()(plain(body))
    return MCPToolset(made)


class Outside(ToolContract):
    adapter, package, module = "pydantic_ai", "pydantic-ai-slim", "pydantic_ai"

    def agent(self, model: Any, **options: Any) -> Agent:
        return Agent(model, **options)

    @mode
    async def run_async(self, body, calls):
        found = await self.agent(paying(calls), tools=[plain(body)]).run("go")
        return told(found.all_messages())

    @mode
    def run_sync(self, body, calls):
        loop = asyncio.new_event_loop()  # the one that it would make is never closed
        asyncio.set_event_loop(loop)
        try:
            found = self.agent(paying(calls), tools=[plain(body)]).run_sync("go")
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        return told(found.all_messages())

    @mode
    async def an_async_tool(self, body, calls):
        async def pay(context: RunContext[None], amount: int, to: str) -> str:
            await asyncio.sleep(0)
            return body(amount, to)

        found = await self.agent(paying(calls), tools=[pay]).run("go")
        return told(found.all_messages())

    @mode
    async def streamed(self, body, calls):
        agent = self.agent(paying(calls), tools=[plain(body)])
        async with agent.run_stream("go") as found:
            [text async for text in found.stream_text()]
            return told(found.all_messages())

    @mode
    async def mcp(self, body, calls):
        found = await self.agent(paying(calls), toolsets=[server(body)]).run("go")
        return told(found.all_messages())

    @mode
    async def toolsets_in_toolsets(self, body, calls):
        toolset = FunctionToolset([plain(body)]).renamed({"send": "pay"}).prefixed("bank")
        toolset = toolset.renamed({"pay": "bank_send"}).filtered(lambda context, tool: True)
        found = await self.agent(paying(calls), toolsets=[toolset]).run("go")
        return told(found.all_messages())

    kinds = {"mcp": "mcp", "output_function": "output"}
    counts = "pydantic_ai._uuid._last_timestamp_v7", "pydantic_ai._uuid._last_counter_v7"


class TestPydanticAI(Outside):
    besides = {"agent_of_another_agent": 1}
    install = staticmethod(pydantic_ai.install)

    @mode
    async def agent_of_another_agent(self, body, calls):
        inner, found = Agent(paying(calls), tools=[plain(body)]), []

        async def ask(question: str) -> str:
            found.extend((await inner.run(question)).all_messages())
            return "asked"

        outer = Agent(scripted(("ask", {"question": "?"})), tools=[ask])
        assert (await outer.run("go")).output == "done"
        return told(found)

    @mode
    async def agent_with_retries_and_hooks(self, body, calls):
        hooks = Hooks()

        @hooks.on.tool_execute
        async def twice(context, *, call, tool_def, args, handler):
            try:
                return await handler(args)
            except (ValueError, ModelRetry):
                return await handler(args)

        agent = Agent(paying(calls), tools=[plain(body)], capabilities=[hooks], retries=3)
        return told((await agent.run("go")).all_messages())

    @mode
    async def output_function(self, body, calls):
        return joined([await self._output(body, args) for args in calls])

    async def _output(self, body: Any, args: Any) -> Told:
        agent = Agent(paying([args]), output_type=[ToolOutput(plain(body), name="pay"), str])
        found = await agent.run("go")
        parts = [part for each in found.all_messages() for part in each.parts]
        refused = [part for part in parts if part.part_kind == "retry-prompt"
                   or getattr(part, "outcome", None) == "retried"]  # fmt: skip
        answer = str(refused[0].content) if refused else found.output
        return Told([answer], repr(found.all_messages()) + repr(found.output))


def joined(each: list[Told]) -> Told:
    return Told([one.answers[0] for one in each], "".join(one.everything for one in each))
