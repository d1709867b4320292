"""Strands' tools under the contract: by agents, their agents, a swarm, a program."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.types import Tool as McpDescription
from strands import Agent, tool
from strands.models import Model
from strands.multiagent import Swarm
from strands.tools.decorator import DecoratedFunctionTool
from strands.tools.executors import SequentialToolExecutor
from strands.tools.mcp.mcp_agent_tool import MCPAgentTool
from strands.types.tools import AgentTool

from hookbus.adapters import strands

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


class Scripted(Model):
    """Gives its turns one after the other: texts, or lists of calls; `read` is what it was told."""

    def __init__(self, *turns: Any) -> None:
        self.turns, self.read = list(turns), []

    def update_config(self, **options: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.read.append(json.loads(json.dumps(messages, default=str)))
        turn = self.turns.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        for block in [turn] if isinstance(turn, str) else turn:
            start = {} if isinstance(block, str) else {"toolUse": block}
            given = {"text": block} if isinstance(block, str) else {
                "toolUse": {"input": json.dumps(block["input"])}
            }  # fmt: skip
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": given}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(turn, str) else "tool_use"}}


def asks(name: str, args: dict[str, Any], call_id: str | None = None) -> dict[str, Any]:
    return {"name": name, "toolUseId": call_id or f"call-{name}", "input": dict(args)}


def payments(calls: Any) -> list[Any]:
    return [asks("pay", args, f"call-{i}") for i, args in enumerate(calls)]


def tool_of(body: Any, kind: str = "plain") -> AgentTool:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    async def pay_async(amount: int, to: str) -> str:
        """Pay a recipient."""
        await asyncio.sleep(0)
        return body(amount, to)

    async def pay_in_parts(amount: int, to: str) -> Any:
        """Pay a recipient."""
        yield "paying"
        yield body(amount, to)

    kinds = {"plain": pay, "async": pay_async, "parts": pay_in_parts}
    return tool(name="pay")(kinds[kind])


class Overriding(DecoratedFunctionTool):
    """A tool whose `stream` calls its parent's."""

    async def stream(self, tool_use: Any, invocation_state: Any, **options: Any) -> Any:
        async for part in super().stream(tool_use, invocation_state, **options):
            yield part


class Own(AgentTool):
    """A tool written without Strands' events: its last part is the result."""

    tool_name, tool_type = "pay", "own"
    tool_spec = {"name": "pay", "description": "Pay.", "inputSchema": {"json": {"type": "object"}}}

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body

    async def stream(self, tool_use: Any, invocation_state: Any, **options: Any) -> Any:
        yield "paying"
        blocks = [{"text": self.body(**tool_use["input"])}]
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": blocks}


class Client:
    """Stands for the client of an MCP server."""

    def __init__(self, body: Any) -> None:
        self.body = body

    async def call_tool_async(self, tool_use_id: str, name: str, arguments: Any, **_: Any) -> Any:
        text = self.body(**arguments)
        blocks, held = [{"text": text}], {"text": text}
        return {"toolUseId": tool_use_id, "status": "success", "content": blocks,
                "structuredContent": held}  # fmt: skip


def mcp_tool(body: Any) -> MCPAgentTool:
    schema = {"type": "object", "properties": {}}
    return MCPAgentTool(McpDescription(name="pay", inputSchema=schema), Client(body))


def agent_of(model: Any, *tools: Any, name: str = "agent", **options: Any) -> Agent:
    return Agent(
        model, tools=list(tools), name=name, description=name, callback_handler=None, **options
    )


def told(model: Scripted, result: Any, events: Any = ()) -> Told:
    blocks = [block for message in model.read[-1] for block in message["content"]]
    found = sorted(
        (block["toolResult"] for block in blocks if "toolResult" in block),
        key=lambda each: int(each["toolUseId"].partition("-")[2]),
    )
    return Told([str(each["content"]) for each in found], repr((model.read, result, events)),
                str(result).strip() == "done")  # fmt: skip


class TestStrands(ToolContract):
    unnamed = "tool_of_mcp", "tool_without_events"
    adapter, package, module = "strands", "strands-agents", "strands"
    besides = {"agent_as_a_tool": 1, "agent_of_a_swarm": 1}
    kinds = {"tool_of_mcp": "mcp"}
    install = staticmethod(strands.install)

    async def _told(self, calls: Any, *tools: Any, **options: Any) -> Told:
        model = Scripted(payments(calls), "done")
        agent = agent_of(model, *tools, **options)
        return told(model, await agent.invoke_async("go"), agent.messages)

    @mode
    def agent(self, body, calls):
        model = Scripted(payments(calls), "done")
        return told(model, agent_of(model, tool_of(body))("go"))

    @mode
    async def agent_async(self, body, calls):
        return await self._told(calls, tool_of(body))

    @mode
    async def agent_streamed(self, body, calls):
        model = Scripted(payments(calls), "done")
        agent = agent_of(model, tool_of(body))
        events = [event async for event in agent.stream_async("go")]
        return told(model, events[-1]["result"], events)

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        return await self._told(calls, tool_of(body, "async"))

    @mode
    async def agent_one_call_after_the_other(self, body, calls):
        return await self._told(calls, tool_of(body), tool_executor=SequentialToolExecutor())

    @mode
    async def tool_without_events(self, body, calls):
        return await self._told(calls, Own(body))

    @mode
    async def a_class_that_overrides_stream(self, body, calls):
        plain = tool_of(body)
        pay = Overriding("pay", plain.tool_spec, plain._tool_func, plain._metadata)
        return await self._told(calls, pay)

    @mode
    async def tool_of_mcp(self, body, calls):
        return await self._told(calls, mcp_tool(body))

    @mode
    async def agent_as_a_tool(self, body, calls):
        model = Scripted(payments(calls), "done")
        inner = agent_of(model, tool_of(body), name="payer")
        outer = Scripted([asks("payer", {"input": "go"})], "done")
        await agent_of(outer, inner.as_tool()).invoke_async("go")
        return told(model, "done", outer.read)

    @mode
    async def agent_of_a_swarm(self, body, calls):
        model = Scripted(payments(calls), "done")
        boss = Scripted([asks("handoff_to_agent", {"agent_name": "payer", "message": "go"})], "-")
        swarm = Swarm([agent_of(boss, name="boss"), agent_of(model, tool_of(body), name="payer")])
        result = await swarm.invoke_async("go")
        return told(model, result.results["payer"].result)

    @mode
    def called_through_its_agent(self, body, calls):
        agent = agent_of(Scripted(), tool_of(body))
        found = [agent.tool.pay(record_direct_tool_call=False, **args) for args in calls]
        return Told([str(each["content"]) for each in found], repr((found, agent.messages)))

    @mode
    async def called_directly(self, body, calls):
        pay = tool_of(body)

        async def call(use: Any) -> Any:
            return [part async for part in pay.stream(use, {})][-1].tool_result

        found = await asyncio.gather(*map(call, payments(calls)))
        return Told([str(each["content"]) for each in found], repr(found))
