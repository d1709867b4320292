"""AutoGen's tools under the contract: by agents, teams and workbenches, streamed, and by a
program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, FunctionExecutionResult, RequestUsage
from autogen_core.tools import (
    BaseStreamTool,
    FunctionTool,
    StaticWorkbench,
    TextResultContent,
    ToolResult,
    Workbench,
)
from autogen_ext.models.replay import ReplayChatCompletionClient
from pydantic import BaseModel

from hookbus.adapters import autogen

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

INFO = {
    "vision": False, "function_calling": True, "json_output": False, "family": "none",
    "structured_output": False,
}  # fmt: skip


def asking(calls: Any, name: str = "pay") -> CreateResult:
    asked = [FunctionCall(id=str(i), name=name, arguments=json.dumps(dict(args)))
             for i, args in enumerate(calls)]  # fmt: skip
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=asked, usage=usage, cached=False)


def scripted(*answers: Any) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient([*answers, *["done"] * 5], model_info=INFO)


def tool_of(body: Any) -> FunctionTool:
    async def pay(amount: int, to: str) -> str:
        await asyncio.sleep(0)
        return body(amount, to)

    return FunctionTool(pay, name="pay", description="Pay.")


def agent_of(client: Any, *tools: Any, name: str = "clerk", **options: Any) -> AssistantAgent:
    options = {"max_tool_iterations": 4, **options}
    kind = {} if "workbench" in options else {"tools": [*tools]}
    return AssistantAgent(name, client, **kind, **options)


def told(result: Any, *more: Any) -> Told:
    """Return the results that a run tells of, and all it holds."""
    answers = [
        each.content for message in result.messages if isinstance(message.content, list)
        for each in message.content if isinstance(each, FunctionExecutionResult)
    ]  # fmt: skip
    went_on = str(result.messages[-1].content) == "done"
    return Told(answers, repr((result, more)), went_on)


async def context_of(agent: Any) -> Any:
    return await agent.model_context.get_messages()


class Args(BaseModel):
    amount: int
    to: str


class Said(BaseModel):
    said: str


class Streaming(BaseStreamTool[Args, Said, Said]):
    """A tool that gives an item before its result."""

    def __init__(self, body: Any) -> None:
        super().__init__(Args, Said, "pay", "Pay.")
        self.body = body

    async def run(self, args: Args, cancellation_token: Any) -> Said:
        return Said(said=self.body(args.amount, args.to))

    async def run_stream(self, args: Args, cancellation_token: Any) -> AsyncGenerator[Said, None]:
        yield Said(said=self.body(args.amount, args.to))


class Bench(Workbench):
    """A workbench whose tools are elsewhere."""

    def __init__(self, body: Any) -> None:
        self.body = body

    async def list_tools(self) -> Any:
        return [tool_of(self.body).schema]

    async def call_tool(
        self, name: str, arguments: Any = None, cancellation_token: Any = None,
        call_id: str | None = None,
    ) -> ToolResult:  # fmt: skip
        text = TextResultContent(content=self.body(**arguments))
        return ToolResult(name=name, result=[text])

    async def nothing(self, *args: Any) -> Any: ...

    start = stop = reset = save_state = load_state = nothing


class TestAutoGen(ToolContract):
    unnamed = ("workbench_of_ones_own",)
    adapter, package, module = "autogen", "autogen-core", "autogen_core"
    besides = {"agent_of_another_agent": 1, "team_after_a_hand_off": 1}
    kinds = {"mcp_server": "mcp"}
    program = ("run_directly", "streamed_directly")
    threads = ("team_after_a_hand_off",)
    install = staticmethod(autogen.install)

    @mode
    async def agent(self, body, calls):
        agent = agent_of(scripted(asking(calls)), tool_of(body))
        return told(await agent.run(task="go"), await context_of(agent))

    @mode
    async def agent_streamed(self, body, calls):
        agent = agent_of(scripted(asking(calls)), tool_of(body), model_client_stream=True)
        items = [each async for each in agent.run_stream(task="go")]
        return told(items[-1], items, await context_of(agent))

    @mode
    async def agent_that_reflects(self, body, calls):
        agent = agent_of(scripted(asking(calls)), tool_of(body), max_tool_iterations=1,
                         reflect_on_tool_use=True)  # fmt: skip
        return told(await agent.run(task="go"), await context_of(agent))

    @mode
    async def tool_that_streams(self, body, calls):
        agent = agent_of(scripted(asking(calls)), Streaming(body))
        items = [each async for each in agent.run_stream(task="go")]
        return told(items[-1], items, await context_of(agent))

    @mode
    async def agent_of_another_agent(self, body, calls):
        inner = agent_of(scripted(asking(calls)), tool_of(body))
        outer = agent_of(scripted(asking([{"task": "go"}], "clerk")), AgentTool(inner))
        out = await outer.run(task="go")
        results = [each for each in await context_of(inner) if isinstance(each.content, list)]
        answers = [each.content for each in results[-1].content]
        return told(out, results)._replace(answers=answers)

    @mode
    async def team_after_a_hand_off(self, body, calls):
        clerk = agent_of(scripted(asking([{}], "transfer_to_cashier")), handoffs=["cashier"])
        cashier = agent_of(scripted(asking(calls)), tool_of(body), name="cashier")
        end = TextMentionTermination("done") | MaxMessageTermination(30)
        out = await Swarm([clerk, cashier], termination_condition=end).run(task="go")
        assert [each for each in out.messages if each.type == "HandoffMessage"]
        return told(out)._replace(answers=told(out).answers[1:])

    @mode
    async def workbench_of_ones_own(self, body, calls):
        agent = agent_of(scripted(asking(calls)), workbench=Bench(body))
        return told(await agent.run(task="go"), await context_of(agent))

    @mode
    async def mcp_server(self, body, calls):
        def pay(amount: int, to: str) -> str:
            return body(amount, to)

        mcp = import_module("autogen_ext.tools.mcp")
        server = import_module("mcp.server.fastmcp").FastMCP("bank")
        server.add_tool(pay, description="Pay.")
        memory = import_module("mcp.shared.memory")
        async with memory.create_connected_server_and_client_session(server._mcp_server) as session:
            params = mcp.StdioServerParams(command="none")
            [tool] = (await session.list_tools()).tools
            adapter = mcp.StdioMcpToolAdapter(params, tool, session)
            agent = agent_of(scripted(asking(calls)), adapter)
            return told(await agent.run(task="go"), await context_of(agent))

    @mode
    async def workbench_called(self, body, calls):
        bench = StaticWorkbench([tool_of(body)])
        found = await asyncio.gather(*(bench.call_tool("pay", args) for args in calls))
        return Told([each.to_text() for each in found], repr(found))

    @mode
    async def run_directly(self, body, calls):
        tool = tool_of(body)
        return await by_program(*(tool.run_json(args, CancellationToken()) for args in calls))

    @mode
    async def streamed_directly(self, body, calls):
        tool = Streaming(body)

        async def streamed(args: Any) -> Any:
            return [each async for each in tool.run_json_stream(args, CancellationToken())]

        return await by_program(*(streamed(args) for args in calls))


async def by_program(*calls: Any) -> Told:
    found = await asyncio.gather(*calls, return_exceptions=True)
    return Told([str(each) for each in found], repr(found))
