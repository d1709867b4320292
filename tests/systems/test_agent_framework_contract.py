"""Agent Framework's tools under the contract: by agents, their agents, a workflow, a program."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    MCPStreamableHTTPTool,
    Message,
)
from agent_framework_orchestrations import HandoffBuilder
from mcp.types import CallToolResult, ListToolsResult, TextContent
from mcp.types import Tool as McpDescription
from pydantic import BaseModel

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import agent_framework

from .tool_contract import (  # noqa: F401
    ANN,
    SECRET,
    Told,
    ToolContract,
    mode,
    pytest_generate_tests,
)


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Gives its turns one after the other: texts, or lists of calls; `read` is what it was told."""

    def __init__(self, *turns: Any) -> None:
        super().__init__()
        self.turns, self.read = list(turns), []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        self.read.append(list(messages))
        turn = self.turns.pop(0) if self.turns else "done"
        contents = [Content.from_text(turn)] if isinstance(turn, str) else turn

        async def parts() -> Any:
            for each in contents:
                yield ChatResponseUpdate(role="assistant", contents=[each])

        async def whole() -> Any:
            return ChatResponse(messages=[Message("assistant", contents)])

        return self._build_response_stream(parts()) if stream else whole()


def asks(name: str, args: dict[str, Any], call_id: str | None = None) -> Content:
    return Content.from_function_call(call_id or f"call-{name}", name, arguments=dict(args))


def payments(calls: Any) -> list[Content]:
    return [asks("pay", args, f"call-{i}") for i, args in enumerate(calls)]


def tool_of(body: Any, kind: Any = FunctionTool, *, is_async: bool = False) -> FunctionTool:
    def pay(amount: int, to: str) -> str:
        return body(amount, to)

    async def pay_async(amount: int, to: str) -> str:
        await asyncio.sleep(0)
        return body(amount, to)

    return kind(name="pay", description="Pay.", func=pay_async if is_async else pay)


class Overriding(FunctionTool):
    """A tool whose `invoke` calls its parent's."""

    async def invoke(self, **options: Any) -> Any:
        return await super().invoke(**options)


class Session:
    """Stands for a session with an MCP server."""

    initialize_result = None

    def __init__(self, body: Any) -> None:
        self.body = body

    async def list_tools(self, *args: Any, **options: Any) -> Any:
        schema = {"type": "object", "properties": {"amount": {"type": "integer"}, "to": {}}}
        return ListToolsResult(tools=[McpDescription(name="pay", inputSchema=schema)])

    async def call_tool(self, name: str, arguments: Any = None, **options: Any) -> Any:
        text = await asyncio.to_thread(self.body, **arguments)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structuredContent={"text": text}
        )

    async def send_ping(self) -> None:
        pass


async def mcp_tool(body: Any) -> FunctionTool:
    server = MCPStreamableHTTPTool("bank", "http://localhost:9", session=Session(body))
    await server.load_tools()
    return server.functions[0]


def agent_of(client: Any, *tools: Any, name: str = "agent", **options: Any) -> Agent:
    return Agent(
        client=client, name=name, description=name, tools=list(tools),
        require_per_service_call_history_persistence=True, **options,
    )  # fmt: skip


def told(client: Scripted, result: Any, more: Any = ()) -> Told:
    found = sorted(
        (each for message in client.read[-1] for each in message.contents
         if each.type == "function_result"),
        key=lambda each: int(each.call_id.partition("-")[2]),
    )  # fmt: skip
    everything = [each.to_dict() for message in client.read[-1] for each in message.contents]
    return Told([str(each.result) for each in found], repr((everything, more, vars(result))),
                result.text == "done")  # fmt: skip


class TestAgentFramework(ToolContract):
    adapter, package, module = "agent_framework", "agent-framework-core", "agent_framework"
    besides = {"agent_as_a_tool": 1, "agent_that_is_handed_to": 1}
    kinds = {"tool_of_mcp": "mcp"}
    program = ("invoked",)
    counts = ("agent_framework._telemetry._feature_mask",)
    install = staticmethod(agent_framework.install)

    async def _told(self, calls: Any, *tools: Any, **options: Any) -> Told:
        client = Scripted(payments(calls), "done")
        return told(client, await agent_of(client, *tools, **options).run("go"))

    @mode
    async def agent(self, body, calls):
        return await self._told(calls, tool_of(body))

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        return await self._told(calls, tool_of(body, is_async=True))

    @mode
    async def agent_with_middleware(self, body, calls):
        async def passes(context: Any, call_next: Any) -> None:
            await call_next()

        return await self._told(calls, tool_of(body), middleware=[passes_as_function(passes)])

    @mode
    async def agent_streamed(self, body, calls):
        client = Scripted(payments(calls), "done")
        stream = agent_of(client, tool_of(body)).run("go", stream=True)
        parts = [part.to_dict() async for part in stream]
        return told(client, await stream.get_final_response(), parts)

    @mode
    async def a_class_that_overrides_invoke(self, body, calls):
        return await self._told(calls, tool_of(body, Overriding))

    @mode
    async def tool_of_mcp(self, body, calls):
        return await self._told(calls, await mcp_tool(body))

    @mode
    async def agent_as_a_tool(self, body, calls):
        client = Scripted(payments(calls), "done")
        inner = agent_of(client, tool_of(body), name="payer").as_tool()
        outer = Scripted([asks("payer", {"task": "go"})], "done")
        return told(client, await agent_of(outer, inner).run("go"))

    @mode
    async def agent_that_is_handed_to(self, body, calls):
        client = Scripted(payments(calls), "done")
        payer = agent_of(client, tool_of(body), name="payer")
        boss = agent_of(Scripted([asks("handoff_to_payer", {})]), name="boss")
        await hand_off(boss, payer)
        return told(client, ChatResponse(messages=[Message("assistant", ["done"])]))

    @mode
    async def invoked(self, body, calls):
        pay = tool_of(body)
        ways = [pay.invoke(arguments=dict(args)) for args in calls]
        found = await asyncio.gather(*ways, return_exceptions=True)
        assert all(isinstance(each, list | HookBlocked) for each in found)
        texts = [each[0].text if isinstance(each, list) else str(each) for each in found]
        return Told(texts, repr(texts))


def passes_as_function(middleware: Any) -> Any:
    from agent_framework import function_middleware

    return function_middleware(middleware)


async def hand_off(boss: Agent, *others: Agent) -> list[Any]:
    workflow = HandoffBuilder(participants=[boss, *others]).with_start_agent(boss).build()
    return [event async for event in workflow.run("go", stream=True)]


class Payment(BaseModel):
    amount: int
    to: str


class TestBesideTheContract:
    """Hand-offs, arguments in their three forms, raw results; the chat client."""

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = agent_framework.install(bus)
        yield bus
        undo()

    @pytest.mark.parametrize("phase", ["pre", "post"])
    async def test_a_refused_hand_off_does_not_happen(self, bus, phase):
        @bus.signal(f"{phase}_tool_call").connect_via(role="guard")
        def no(sender, kind):
            return Block(f"no {kind}")

        other, client = Scripted("I am the other"), Scripted([asks("handoff_to_other", {})])
        await hand_off(agent_of(client, name="boss"), agent_of(other, name="other"))
        assert other.read == []
        results = [each.result for message in client.read[-1] for each in message.contents]
        assert "no handoff" in str(results)

    async def test_a_program_may_give_arguments_in_three_forms(self, bus):
        seen, paid = [], []
        bus.signal("pre_tool_call").connect(lambda sender, arguments: seen.append(arguments))
        pay = tool_of(lambda amount, to: paid.append((amount, to)) or "paid")
        await pay.invoke(arguments={"amount": 1, "to": "ann"})
        await pay.invoke(arguments=Payment(amount=1, to="ann").model_dump())
        await pay.invoke(amount=1, to="ann")
        assert seen == [ANN] * 3 and paid == [(1, "ann")] * 3

    async def test_a_raw_result_is_changed_as_it_is(self, bus):
        bus.signal("post_tool_call").connect(lambda sender, result: {**result, "pin": "****"})
        look = FunctionTool(name="look", description="Look.", func=lambda: {"pin": SECRET, "n": 1})
        assert await look.invoke(skip_parsing=True) == {"pin": "****", "n": 1}

    async def test_a_clients_request_is_told_and_can_be_changed(self, bus):
        bus.signal("pre_model_call").connect(
            lambda sender, messages: {"messages": [*messages, Message("user", ["be brief"])]}
        )
        client = Scripted("done")
        await agent_of(client).run("go")
        assert client.read[0][-1].text == "be brief"

    async def test_the_parts_of_a_streamed_answer_are_items(self, bus):
        bus.signal("item_model_stream").connect(
            lambda sender, item: ChatResponseUpdate(
                role="assistant", contents=[Content.from_text("changed")]
            ),
            on_error="block",
        )
        stream = agent_of(Scripted("done")).run("go", stream=True)
        assert [part.text async for part in stream] == ["changed"]
        assert (await stream.get_final_response()).text == "changed"
