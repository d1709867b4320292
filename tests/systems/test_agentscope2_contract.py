"""AgentScope 2 under the contract: tools, by an agent and by a program; its models and agents."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest
from agentscope.agent import Agent, ModelConfig
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, ToolCallBlock, ToolResultBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, ToolChunk, Toolkit, ToolMiddlewareBase
from pydantic import BaseModel

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import agentscope2

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="")


class Scripted(ChatModelBase):
    """Asks for the calls, and says "done" once it was told their results; `read` has the texts that
    it was told."""

    class Parameters(BaseModel):
        pass

    def __init__(self, calls: Any = (), *, stream: bool = False, in_parts: bool = False) -> None:
        credential = OpenAICredential(api_key="none")
        super().__init__(credential, "scripted", self.Parameters(), stream=stream, max_retries=0)
        self.formatter = OpenAIChatFormatter()
        self.calls, self.in_parts, self.read = calls, in_parts, []

    async def _call_api(self, model_name: str, messages: Any, *args: Any, **more: Any) -> Any:
        self.read.append([each.get_text_content() for each in messages])
        blocks = [TextBlock(text="done")] if len(self.read) > 1 or not self.calls else [
            ToolCallBlock(id=f"call-{i}", name="pay", input=json.dumps(args))
            for i, args in enumerate(self.calls)
        ]  # fmt: skip
        return self._parts(blocks) if self.in_parts else ChatResponse(blocks, is_last=True)

    async def _parts(self, blocks: Any) -> Any:
        for block in blocks:
            yield ChatResponse([block], is_last=False)

    async def count_tokens(self, *args: Any, **more: Any) -> int:
        return 1


class Allowed(FunctionTool):
    """A function that needs nobody's permission."""

    async def check_permissions(self, *args: Any, **more: Any) -> PermissionDecision:
        return ALLOWED


def tool_of(body: Any, **options: Any) -> ToolBase:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    return Allowed(pay, **options)


def agent_of(model: Scripted, *tools: ToolBase, **options: Any) -> Agent:
    return Agent("clerk", "Pay.", model, Toolkit(tools=[*tools]), **options)


def text_of(output: Any) -> str:
    return output if isinstance(output, str) else "".join(block.text for block in output)


class TestAgentScope2(ToolContract):
    adapter, package, module = "agentscope2", "agentscope", "agentscope"
    install = staticmethod(agentscope2.install)

    def _agent(self, tool: ToolBase, calls: Any, **options: Any) -> Agent:
        return agent_of(Scripted(calls, **options), tool)

    def _told(self, agent: Agent, left: Any) -> Told:
        blocks = [block for msg in agent.state.context for block in msg.content]
        results = sorted(
            (block for block in blocks if isinstance(block, ToolResultBlock)),
            key=lambda block: int(block.id.partition("-")[2]),
        )
        done = agent.state.context[-1].get_text_content() or ""
        return Told([text_of(block.output) for block in results],
                    repr((agent.state, left)), done.endswith("done"))  # fmt: skip

    async def _run(self, tool: ToolBase, calls: Any, **options: Any) -> Told:
        agent = self._agent(tool, calls, **options)
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
    async def agent_of_a_streaming_model(self, body, calls):
        return await self._run(tool_of(body), calls, stream=True, in_parts=True)

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        async def pay(amount: int, to: str) -> str:
            """Pay a recipient."""
            await asyncio.sleep(0)
            return body(amount, to)

        return await self._run(Allowed(pay), calls)

    @mode
    async def agent_with_a_tool_that_gives_parts(self, body, calls):
        async def pay(amount: int, to: str) -> Any:
            """Pay a recipient."""
            block = TextBlock(text="")
            yield ToolChunk(content=[block], is_last=False)
            yield ToolChunk(content=[TextBlock(id=block.id, text=body(amount, to))])

        return await self._run(Allowed(pay), calls)

    @mode
    async def agent_with_a_tool_of_its_own_class(self, body, calls):
        return await self._run(Paying(body), calls)

    @mode
    async def agent_with_a_tool_that_is_called_itself(self, body, calls):
        return await self._run(CalledItself(body), calls)

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
            """Pay a recipient."""
            return body(amount, to)

        super().__init__(pay)

    async def call(self, **given: Any) -> Any:
        yield await super().call(**given)


class CalledItself(Allowed):
    """A tool whose `__call__` is its own, as those of AgentScope's memories are."""

    def __init__(self, body: Any) -> None:
        def pay(amount: int, to: str) -> str:
            """Pay a recipient."""

        super().__init__(pay)
        self.body = body

    async def __call__(self, amount: int, to: str) -> Any:
        return ToolChunk(content=[TextBlock(text=self.body(amount, to))])


GO = UserMsg("user", "go")


class TestModelsAndAgents:
    """A model that answers whole, in parts, or whole although it streams; agents by both ways."""

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = agentscope2.install(bus)
        yield bus
        undo()

    @pytest.fixture(params=["whole", "in_parts", "whole_of_a_stream"])
    def model(self, request):
        streams = request.param != "whole"
        return Scripted(stream=streams, in_parts=request.param == "in_parts")

    def pre(self, bus, model):
        return bus.signal("pre_model_stream" if model.stream else "pre_model_call")

    async def test_a_request_is_told_with_its_agent_and_can_be_changed(self, bus, model):
        seen = []

        @self.pre(bus, model).connect_via()
        def brief(model, messages, options, caller):
            seen.append((model, caller, sorted(options)))
            return {"messages": [*messages, UserMsg("user", "be brief")]}

        agent = agent_of(model)
        assert (await agent.reply(GO)).get_text_content() == "done"
        assert model.read[0][-1] == "be brief"
        assert seen == [(model, agent, ["tool_choice", "tools"])]

    async def test_the_events_of_an_agent_are_those_without_hooks(self, bus, model):
        def text(events):
            return [each.delta for each in events if hasattr(each, "delta")]

        assert text([each async for each in agent_of(model).reply_stream(GO)]) == ["done"]

    async def test_a_refused_request_ends_the_run_is_not_made_again_and_not_put_to_another(
        self, bus, model
    ):
        asked = []

        @bus.signal("pre_model_call").connect_via(role="guard")
        @bus.signal("pre_model_stream").connect_via(role="guard")
        def closed(model):
            asked.append(model)
            return Block("closed on Sundays")

        other = Scripted()
        config = ModelConfig(max_retries=2, fallback_model=other)
        with pytest.raises(HookBlocked, match="closed on Sundays"):
            await agent_of(model, model_config=config).reply(GO)
        with pytest.raises(HookBlocked, match="closed on Sundays"):
            await model([GO])
        assert asked == [model, model] and model.read == other.read == []

    async def test_a_model_that_fails_is_retried_and_another_one_is_asked(self, bus, monkeypatch):
        asked = []
        bus.signal("pre_model_stream").connect(lambda model: asked.append(model))

        async def breaks(*args, **options):
            raise ConnectionError

        broken, other = Scripted(stream=True), Scripted(stream=True, in_parts=True)
        monkeypatch.setattr(broken, "_call_api", breaks)
        config = ModelConfig(max_retries=1, fallback_model=other)
        reply = await agent_of(broken, model_config=config).reply(GO)
        assert reply.get_text_content() == "done" and asked == [broken, broken, other]

    async def test_the_parts_of_an_answer_are_items(self, bus):
        bus.signal("item_model_stream").connect(
            lambda model, item: ChatResponse([TextBlock(text="changed")], is_last=item.is_last),
            on_error="block",
        )
        agent = agent_of(Scripted(stream=True, in_parts=True))
        assert (await agent.reply(GO)).get_text_content() == "changed"

    async def test_a_guard_of_a_whole_answer_reads_it_although_it_came_in_parts(self, bus):
        @bus.signal("post_model_call").connect_via(role="guard")
        def read(model, result):
            return Block("not done") if "done" in result.content[0].text else None

        with pytest.raises(HookBlocked, match="not done"):
            await Scripted(in_parts=True)([GO])

    async def test_structured_output_is_a_call_of_the_model(self, bus):
        seen = []

        @bus.signal("pre_model_call").connect_via(role="guard")
        def closed(model, options):
            seen.append(options["structured_model"])
            return Block("closed")

        with pytest.raises(HookBlocked):
            await Scripted().generate_structured_output([GO], structured_model=Scripted.Parameters)
        assert seen == [Scripted.Parameters]

    async def test_a_run_is_told_once_and_its_input_can_be_changed(self, bus):
        seen, model = [], Scripted()

        class Polite(Agent):
            async def reply(self, inputs: Any = None, **options: Any) -> Any:
                return await super().reply(inputs, **options)

        @bus.signal("pre_agent_run").connect_via(Agent)
        def note(agent, input):
            seen.append(input)
            return {"input": UserMsg("user", "hello")}

        agent = Polite("clerk", "Pay.", model, Toolkit())
        assert inspect.iscoroutinefunction(agent.reply)
        assert (await agent.reply(GO)).get_text_content() == "done"
        assert seen == [GO] and "hello" in model.read[0]

    async def test_a_write_into_the_message_that_starts_a_run_starts_nothing(self, bus):
        def write(agent, input):
            input.content[0].text = "pay eve"

        model, message = Scripted(), UserMsg("user", "pay ann")
        bus.signal("pre_agent_run").connect(lambda agent: None, role="guard")
        bus.signal("pre_agent_run").connect(write, role="observe")
        with pytest.raises(HookBlocked, match=r"input\.content\[0\]\.text was changed in place"):
            await agent_of(model).reply(message)
        assert model.read == []

    async def test_the_events_of_a_run_are_items(self, bus):
        seen = []
        bus.signal("item_agent_stream").connect(lambda agent, item: seen.append(item))
        given = [each async for each in agent_of(Scripted()).reply_stream(GO)]
        assert given and seen == given
