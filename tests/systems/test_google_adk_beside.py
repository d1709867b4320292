"""What the contract leaves out of ADK: hand-offs, tasks, outputs, models and runs."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig, StreamingMode
from pydantic import BaseModel

from hookbus import Block, Bus
from hookbus.adapters import google_adk

from .test_google_adk_contract import (
    Scripted,
    agent_of,
    asks,
    content,
    payments,
    run,
    scripted,
    tool_of,
)
from .tool_contract import ANN, SECRET


class Output(BaseModel):
    pin: str


class TestBesideTheContract:
    """Hand-offs, tasks and outputs, which ADK keeps elsewhere than in results; models and runs."""

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = google_adk.install(bus)
        yield bus
        undo()

    def refuse(self, bus, name, *, phase="pre"):
        @bus.signal(f"{phase}_tool_call").connect_via(role="guard", when={"name": name})
        def no(sender, kind):
            return Block(f"no {kind}")

    @pytest.mark.parametrize("phase", ["pre", "post"])
    async def test_a_refused_hand_off_does_not_happen(self, bus, phase):
        self.refuse(bus, "transfer_to_agent", phase=phase)
        other = scripted("I am the other")
        model = scripted([asks("transfer_to_agent", {"agent_name": "other"})], "done")
        boss = agent_of("boss", model, sub_agents=[agent_of("other", other)])
        events = await run(boss)
        assert other.read == [] and "no handoff" in repr(model.read[-1])
        assert events[-2].content.parts[0].text == "done"

    @pytest.mark.parametrize("beside", [[], [asks("pay", {"amount": 1, "to": "ann"})]])
    async def test_a_refused_task_is_not_given_to_the_other_agent(self, bus, beside):
        self.refuse(bus, "worker")
        worker = scripted([asks("finish_task", {"result": "worked"})])
        model = scripted([asks("worker", {"request": "go"}), *beside], "done")
        tool = tool_of(lambda amount, to: "paid")
        worker_agent = agent_of("worker", worker, mode="task")
        await run(agent_of("boss", model, tool, sub_agents=[worker_agent]))
        assert worker.read == [] and "no agent" in repr(model.read[-1])
        assert ("paid" in repr(model.read[-1])) == bool(beside)

    async def test_a_task_is_asked_about_once(self, bus):
        asked = []

        @bus.signal("pre_tool_call").connect_via(when={"name": "worker"})
        def look(sender, kind, arguments, caller):
            asked.append((kind, arguments, caller.name))

        worker = scripted([asks("finish_task", {"result": "worked"})])
        model = scripted([asks("worker", {"request": "go"}), *payments([ANN])], "done")
        tool = tool_of(lambda amount, to: "paid")
        worker_agent = agent_of("worker", worker, mode="task")
        await run(agent_of("boss", model, tool, sub_agents=[worker_agent]))
        assert asked == [("agent", {"request": "go"}, "boss")]
        assert "worked" in repr(model.read[-1])

    @pytest.mark.parametrize("name", ["worker", "finish_task"])
    async def test_arguments_that_adk_takes_from_the_message_cannot_be_changed(self, bus, name):
        @bus.signal("pre_tool_call").connect_via(when={"name": name})
        def stars(sender, arguments):
            return {"arguments": dict.fromkeys(arguments, "****")}

        worker = scripted(*([asks("finish_task", {"result": text})] for text in ("worked", "****")))
        model = scripted([asks("worker", {"request": "go"})], "done")
        await run(agent_of("boss", model, sub_agents=[agent_of("worker", worker, mode="task")]))
        assert f"arguments of {name} cannot be changed" in repr((model.read, worker.read))
        assert "worked" not in repr(model.read[-1])

    async def test_a_changed_output_is_changed_where_adk_takes_it_from(self, bus):
        bus.signal("post_tool_call").connect(lambda sender, result: {"pin": "****"})
        model = scripted([asks("set_model_response", {"pin": SECRET})])
        tool = tool_of(lambda amount, to: "paid")
        events = await run(agent_of("agent", model, tool, output_schema=Output))
        assert events[-2].content.parts[0].text == '{"pin": "****"}'

    @pytest.mark.parametrize("phase", ["pre", "post"])
    async def test_a_refused_output_is_none_and_the_model_tries_again(self, bus, phase):
        @bus.signal(f"{phase}_tool_call").connect_via(role="guard")
        def no_pins(sender, arguments, kind):
            return Block(f"no {kind}") if SECRET in str(arguments) else None

        model = scripted(*([asks("set_model_response", {"pin": pin})] for pin in (SECRET, "none")))
        tool = tool_of(lambda amount, to: "paid")
        events = await run(agent_of("agent", model, tool, output_schema=Output))
        assert "no output" in repr(model.read[-1])
        assert events[-2].content.parts[0].text == '{"pin": "none"}'

    async def test_a_models_call_is_told_and_its_messages_can_be_changed(self, bus):
        bus.signal("pre_model_call").connect(
            lambda sender, messages: {"messages": [*messages, content("be brief", "user")]}
        )
        bus.signal("post_model_call").connect(
            lambda sender, result: result.model_copy(update={"content": content("changed")})
        )
        model = scripted("done")
        events = await run(agent_of("agent", model))
        assert "be brief" in repr(model.read) and events[0].content.parts[0].text == "changed"

    async def test_the_parts_of_a_streamed_answer_and_of_a_run_are_items(self, bus):
        parts, events = [], []
        bus.signal("item_model_stream").connect(lambda sender, item: parts.append(item.partial))
        bus.signal("item_agent_stream").connect(lambda sender, item: events.append(sender.name))
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        await run(agent_of("agent", scripted("done")), run_config=config)
        assert parts == [True, None] and events == ["agent", "agent"]

    async def test_a_model_whose_override_calls_its_parents_is_asked_once(self, bus):
        asked = []
        bus.signal("pre_model_call").connect(lambda sender: asked.append(sender))

        class Louder(Scripted):
            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
                async for each in super().generate_content_async(llm_request, stream):
                    yield each

        model = Louder(turns=["done"], read=[])
        await run(agent_of("agent", model))
        assert asked == [model]
