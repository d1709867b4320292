"""Haystack's tools under the contract: by an agent, by a program, of components and servers."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from haystack import Pipeline, component
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.dataclasses import ToolCall as Asked
from haystack.tools import AgentTool, ComponentTool, PipelineTool, Tool
from haystack_integrations.tools.mcp import MCPTool, StdioServerInfo
from haystack_integrations.tools.mcp.mcp_tool import MCPClient

from hookbus import HookBlocked
from hookbus.adapters import haystack

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

PARAMETERS = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
}


def scripted(calls: Any, name: str = "pay") -> MockChatGenerator:
    asked = [Asked(name, dict(args), id=str(i)) for i, args in enumerate(calls)]
    return MockChatGenerator([ChatMessage.from_assistant(tool_calls=asked), "done"])


def tool_of(body: Any, *, is_async: bool = False, **options: Any) -> Tool:
    async def apay(amount: int, to: str) -> str:
        await asyncio.sleep(0)
        return body(amount, to)

    def pay(amount: int, to: str) -> str:
        return body(amount, to)

    function = {"async_function": apay} if is_async else {"function": pay}
    return Tool("pay", "Pay.", PARAMETERS, **function, **options)


def agent_of(calls: Any, tool: Tool, **options: Any) -> Agent:
    return Agent(chat_generator=scripted(calls), tools=[tool], **options)


def told(out: Any, streamed: Any = ()) -> Told:
    answers = [each.tool_call_result.result for each in out["messages"] if each.tool_call_result]
    return Told([str(answer) for answer in answers], repr((out, streamed)),
                out["last_message"].text == "done")  # fmt: skip


GO = [ChatMessage.from_user("go")]


@component
class Payer:
    """A component whose outputs a tool gives."""

    def __init__(self, body: Any) -> None:
        self.body = body

    @component.output_types(said=str)
    def run(self, amount: int, to: str) -> Any:
        return {"said": self.body(amount, to)}


class Paying(Tool):
    """A tool of a class of its own, whose `invoke` calls its parent's."""

    def invoke(self, **arguments: Any) -> Any:
        return super().invoke(**arguments)


class InProcess(StdioServerInfo):
    """An MCP server in this process."""

    def create_client(self) -> Any:
        return InProcessClient(self.body)


class InProcessClient(MCPClient):
    def __init__(self, body: Any) -> None:
        super().__init__()
        server = import_module("mcp.server").MCPServer("bank")
        server.add_tool(body, name="pay", description="Pay.")
        self.client = import_module("mcp").Client(server)

    async def connect(self) -> Any:
        self.session = await self.exit_stack.enter_async_context(self.client)
        return (await self.session.list_tools()).tools


def mcp_tool(body: Any) -> MCPTool:
    def pay(amount: int, to: str) -> str:
        return body(amount, to)

    server = InProcess(command="none")
    server.body = pay
    return MCPTool(name="pay", server_info=server)


class TestHaystack(ToolContract):
    adapter, package, module = "haystack", "haystack-ai", "haystack"
    besides = {"agent_of_another_agent": 1}
    kinds = {"mcp_server": "mcp", "mcp_ainvoked": "mcp"}
    program = ("mcp_ainvoked",)
    install = staticmethod(haystack.install)

    @mode
    def agent(self, body, calls):
        return told(agent_of(calls, tool_of(body)).run(GO))

    @mode
    async def agent_async(self, body, calls):
        return told(await agent_of(calls, tool_of(body)).run_async(GO))

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        return told(await agent_of(calls, tool_of(body, is_async=True)).run_async(GO))

    @mode
    def agent_streamed(self, body, calls):
        chunks: list[Any] = []
        out = agent_of(calls, tool_of(body), streaming_callback=chunks.append).run(GO)
        return told(out, chunks)

    @mode
    def agent_of_another_agent(self, body, calls):
        found = []
        inner = agent_of(calls, tool_of(body))
        tool = AgentTool(inner, name="bank", description="Pays.", outputs_to_string={
            "handler": lambda out: found.append(out) or "asked"})  # fmt: skip
        asked = {"messages": [{"role": "user", "content": "go"}]}
        outer = Agent(chat_generator=scripted([asked], "bank"), tools=[tool])
        assert outer.run(GO)["last_message"].text == "done"
        return told(found[0])

    @mode
    def agent_in_a_pipeline(self, body, calls):
        pipeline = Pipeline()
        pipeline.add_component("agent", agent_of(calls, tool_of(body)))
        return told(pipeline.run({"agent": {"messages": GO}})["agent"])

    @mode
    def tool_of_a_component(self, body, calls):
        tool = ComponentTool(Payer(body), name="pay", description="Pay.")
        return told(agent_of(calls, tool).run(GO))

    @mode
    async def tool_of_a_pipeline(self, body, calls):
        pipeline = Pipeline()
        pipeline.add_component("payer", Payer(body))
        tool = PipelineTool(pipeline, name="pay", description="Pay.", input_mapping={
            "amount": ["payer.amount"], "to": ["payer.to"]})  # fmt: skip
        return told(await agent_of(calls, tool).run_async(GO))

    @mode
    def a_class_that_overrides_invoke(self, body, calls):
        tool = Paying("pay", "Pay.", PARAMETERS, function=lambda amount, to: body(amount, to))
        return told(agent_of(calls, tool).run(GO))

    @mode
    def mcp_server(self, body, calls):
        tool = mcp_tool(body)
        try:
            return told(agent_of(calls, tool).run(GO))
        finally:
            tool.close()

    @mode
    async def mcp_ainvoked(self, body, calls):
        tool = mcp_tool(body)
        tool.warm_up()
        try:  # its session lives on the loop of its own thread
            executor = import_module("haystack_integrations.tools.mcp.mcp_tool").AsyncExecutor
            loop = executor.get_instance().get_loop()
            return by_program(await asyncio.gather(*(
                asyncio.wrap_future(asyncio.run_coroutine_threadsafe(tool.ainvoke(**args), loop))
                for args in calls
            ), return_exceptions=True))  # fmt: skip
        finally:
            tool.close()

    @mode
    async def invoked_async(self, body, calls):
        tool = tool_of(body, is_async=True)
        return by_program(await asyncio.gather(
            *(tool.invoke_async(**args) for args in calls), return_exceptions=True
        ))  # fmt: skip

    @mode
    def invoked(self, body, calls):
        tool = tool_of(body)
        answers = []
        for args in calls:
            try:
                answers.append(tool.invoke(**args))
            except HookBlocked as blocked:
                answers.append(blocked)
        return by_program(answers)


def by_program(answers: Any) -> Told:
    return Told([str(each) for each in answers], repr(answers))
