"""What the contract leaves out of Strands: hand-offs, outputs, parts, interrupts, models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from strands import tool
from strands.multiagent import Swarm

from hookbus import Block, Bus
from hookbus.adapters import strands

from .test_strands_contract import Scripted, agent_of, asks
from .tool_contract import SECRET


class Output(BaseModel):
    pin: str


class TestBesideTheContract:
    """Hand-offs, outputs, parts and interrupts; models and agents."""

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = strands.install(bus)
        yield bus
        undo()

    async def test_a_refused_hand_off_does_not_happen(self, bus):
        @bus.signal("pre_tool_call").connect_via(role="guard")
        def no(sender, kind):
            return Block(f"no {kind}")

        other = Scripted("I am the other")
        boss = Scripted(
            [asks("handoff_to_agent", {"agent_name": "other", "message": "go"})], "done"
        )
        swarm = Swarm([agent_of(boss, name="boss"), agent_of(other, name="other")])
        await swarm.invoke_async("go")
        assert other.read == [] and "no handoff" in repr(boss.read[-1])

    @pytest.mark.parametrize("phase", ["pre", "post"])
    async def test_a_refused_output_is_none_and_the_model_tries_again(self, bus, phase):
        @bus.signal(f"{phase}_tool_call").connect_via(role="guard")
        def no_pins(sender, kind, arguments):
            return Block(f"no {kind}") if arguments["pin"] == SECRET else None

        turns = [[asks("Output", {"pin": pin}, pin)] for pin in (SECRET, "none")]
        model = Scripted(*turns, "done")
        result = await agent_of(model).invoke_async("go", structured_output_model=Output)
        assert result.structured_output == Output(pin="none")
        assert "no output" in repr(model.read[1])

    async def test_what_a_tool_gives_before_its_result_goes_on_live(self, bus):
        order = []

        @tool
        async def slowly() -> Any:
            """Give parts."""
            for part in ("one", "two"):
                order.append(f"gives {part}")
                yield part

        parts = slowly.stream(asks("slowly", {}), {})
        async for part in parts:
            order.append("read" if "tool_stream_event" in part else "result")
        assert order == ["gives one", "read", "gives two", "read", "result"]

    async def test_a_stream_that_is_left_is_left_by_the_tool_too(self, bus):
        left = []

        @tool
        async def endless() -> Any:
            """Give parts."""
            try:
                while True:
                    yield "part"
            finally:
                left.append(True)

        parts = endless.stream(asks("endless", {}), {})
        await anext(parts)
        await parts.aclose()
        await asyncio.sleep(0)
        assert left == [True]

    async def test_a_tool_that_asks_a_person_does_so(self, bus):
        @tool(context=True)
        def careful(tool_context: Any) -> str:
            """Ask first."""
            return f"the person said {tool_context.interrupt('sure', reason='?')}"

        model = Scripted([asks("careful", {})], "done")
        agent = agent_of(model, careful)
        result = await agent.invoke_async("go")
        assert result.stop_reason == "interrupt"
        response = {"interruptId": result.interrupts[0].id, "response": "yes"}
        await agent.invoke_async([{"interruptResponse": response}])
        assert "the person said yes" in repr(model.read[-1])

    async def test_a_model_and_an_agent_are_streams(self, bus):
        items, events = [], []
        bus.signal("item_model_stream").connect(lambda sender, item: items.append([*item][0]))
        bus.signal("item_agent_stream").connect(lambda sender, item: events.append(sender.name))
        bus.signal("pre_model_stream").connect(
            lambda sender, messages, options: {"options": {**options, "system_prompt": "be brief"}}
        )
        await agent_of(Scripted("done"), name="payer").invoke_async("go")
        assert items[0] == "messageStart" and items[-1] == "messageStop"
        assert set(events) == {"payer"}
