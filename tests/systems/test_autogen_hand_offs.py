"""What AutoGen hands over and streams, and what its models are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import Swarm
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken
from autogen_core.models import UserMessage
from autogen_core.tools import StaticStreamWorkbench, StaticWorkbench, ToolOverride

from hookbus import Block, Bus, HookBlocked, HookError
from hookbus.adapters import autogen

from .hangs import SECONDS
from .test_autogen_contract import Said, Streaming, agent_of, asking, context_of, scripted, tool_of
from .tool_contract import ANN, SECRET, Tool


@pytest.fixture
def bus():
    bus = Bus(values=True)
    undo = autogen.install(bus)
    yield bus
    undo()


def refuse(bus, **when):
    bus.signal("pre_tool_call").connect(
        lambda sender: Block("not today"), role="guard", name="guard", when=when
    )


async def handed_over(*answers: Any, **options: Any) -> Any:
    """Have a clerk who may hand over to two others; return who was, and what the clerk holds."""
    clerk = agent_of(scripted(*answers), handoffs=["ann", "bob"], **options)
    others = [agent_of(scripted(), name=name) for name in ("ann", "bob")]
    team = Swarm([clerk, *others], termination_condition=MaxMessageTermination(6))
    out = await asyncio.wait_for(team.run(task="go"), SECONDS)
    targets = [each.target for each in out.messages if each.type == "HandoffMessage"]
    return targets, repr(await context_of(clerk))


class TestHandOffs:
    async def test_are_tool_calls_of_that_kind(self, bus):
        heard = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, kind: heard.append((name, kind)), role="observe"
        )
        targets, _ = await handed_over(asking([{}], "transfer_to_ann"))
        assert targets == ["ann"] and heard == [("transfer_to_ann", "handoff")]

    async def test_a_refused_one_does_not_happen_and_the_run_goes_on(self, bus):
        refuse(bus, kind="handoff")
        targets, held = await handed_over(asking([{}], "transfer_to_ann"))
        assert targets == [] and "Error: the call was blocked by guard: not today" in held
        assert "is_error=True" in held and "done" in held

    @pytest.mark.parametrize("reflects", [True, False])
    async def test_so_it_is_of_an_agent_that_does_one_step(self, bus, reflects):
        refuse(bus, kind="handoff")
        answers = asking([{}], "transfer_to_ann")
        options = {"max_tool_iterations": 1, "reflect_on_tool_use": reflects}
        targets, held = await handed_over(answers, **options)
        assert targets == [] and "not today" in held

    async def test_of_two_the_other_happens(self, bus):
        refuse(bus, name="transfer_to_ann")
        both = asking([{}], "transfer_to_ann")
        both.content += asking([{}], "transfer_to_bob").content
        assert (await handed_over(both))[0] == ["bob"]

    async def test_a_guard_that_breaks_closes_one_and_hangs_nothing(self, bus):
        @bus.signal("pre_tool_call").connect_via(role="guard")
        def broken(sender):
            raise LookupError("the policy is in /secret/file")

        targets, held = await handed_over(asking([{}], "transfer_to_ann"))
        assert targets == [] and "guard failed" in held and "/secret/file" not in held

    async def test_a_receiver_that_raises_by_intent_hangs_nothing_either(self, bus):
        @bus.signal("pre_tool_call").connect_via(on_error="raise")
        def broken(sender):
            raise LookupError("the policy is in /secret/file")

        targets, held = await handed_over(asking([{}], "transfer_to_ann"))
        assert targets == [] and "has on_error='raise'" in held and "/secret/file" not in held


class TestWorkbenches:
    async def test_a_refused_call_is_an_error_under_the_name_it_was_asked_by(self, bus):
        refuse(bus)
        bench = StaticWorkbench([tool_of(Tool())], {"pay": ToolOverride(name="send")})
        result = await bench.call_tool("send", ANN)
        assert result.is_error and result.name == "send" and "not today" in result.to_text()

    async def test_its_tool_is_the_sender_and_is_asked_about_once(self, bus):
        heard = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name: heard.append((sender, name)), role="observe"
        )
        pay = tool_of(Tool())
        bench = StaticWorkbench([pay], {"pay": ToolOverride(name="send")})
        await bench.call_tool("send", ANN)
        assert heard == [(pay, "send")]

    async def test_arguments_that_are_no_object_are_its_tools_error(self, bus):
        result = await StaticWorkbench([tool_of(Tool())]).call_tool("pay", ["ann"])
        assert result.is_error


class Slow(Streaming):
    async def run_stream(self, args: Any, cancellation_token: Any) -> AsyncGenerator[Said, None]:
        yield Said(said="on its way")
        yield Said(said=self.body(args.amount, args.to))


async def streamed(body: Any) -> Any:
    bench = StaticStreamWorkbench([Slow(body)])
    return [item async for item in bench.call_tool_stream("pay", ANN)]


class TestStreams:
    async def test_items_and_the_result_come_as_without_hooks(self, bus):
        first, last = await streamed(Tool())
        assert first == Said(said="on its way") and SECRET in last.to_text()

    async def test_of_a_changed_result_no_item_is_left(self, bus):
        bus.signal("post_tool_call").connect(lambda sender, result: "hidden")
        [last] = await streamed(Tool())
        assert last.to_text() == "hidden" and not last.is_error

    async def test_a_tools_own_stream_is_refused_to_a_program(self, bus):
        refuse(bus)
        paid = Tool()
        with pytest.raises(HookBlocked, match="not today"):
            [item async for item in Slow(paid).run_json_stream(ANN, CancellationToken())]
        assert paid.paid == []

    async def test_of_a_run_that_was_cancelled_nothing_begins_later(self, bus):
        asked, answered, paid = asyncio.Event(), asyncio.Event(), Tool()

        @bus.signal("pre_tool_call").connect_via(role="guard")
        async def waits(sender):
            asked.set()
            await answered.wait()

        async def listen():
            async for _ in agent_of(scripted(asking([ANN])), tool_of(paid)).run_stream(task="go"):
                pass

        listening = asyncio.ensure_future(listen())
        await asked.wait()
        listening.cancel()
        await asyncio.wait({listening}, timeout=SECONDS)
        answered.set()  # AutoGen leaves the call under way
        await asyncio.sleep(0.1)
        assert listening.cancelled() and paid.paid == []


class TestAnAgentThatIsATool:
    async def test_a_text_instead_of_its_answer_is_its_answer(self, bus):
        bus.signal("pre_tool_call").connect(lambda sender: Block("no", result="not today"))
        tool = AgentTool(agent_of(scripted(), name="inner"))
        result = await tool.run_json({"task": "go"}, CancellationToken())
        assert tool.return_value_as_string(result) == "inner: not today"

    async def test_is_of_that_kind(self, bus):
        kinds = []
        bus.signal("pre_tool_call").connect(lambda sender, kind: kinds.append(kind), role="observe")
        await AgentTool(agent_of(scripted())).run_json({"task": "go"}, CancellationToken())
        assert kinds == ["agent"]


class TestModels:
    async def test_every_request_is_heard_and_can_be_refused(self, bus):
        heard, asked = [], [UserMessage(content="go", source="user")]
        bus.signal("pre_model_call").connect(
            lambda sender, messages: heard.append(messages), role="observe"
        )
        client = scripted()
        assert (await client.create(asked)).content == "done" and heard == [asked]
        bus.signal("pre_model_call").connect(lambda sender: Block("no model"), role="guard")
        with pytest.raises(HookError, match="no model"):
            await client.create(asked)

    async def test_items_of_a_stream_are_heard_also_of_a_client_that_returns_one(self, bus):
        class Cached(type(scripted())):
            def create_stream(self, *args: Any, **kwargs: Any) -> Any:
                return super().create_stream(*args, **kwargs)

        items = []
        bus.signal("item_model_stream").connect(
            lambda sender, item: items.append(item), role="observe"
        )
        client = Cached(["so be it"], model_info=scripted().model_info)
        found = [
            each async for each in client.create_stream([UserMessage(content="go", source="u")])
        ]
        assert items == found and "".join(found[:-1]) == "so be it"
