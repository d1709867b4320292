"""What LlamaIndex does when what stands for a hook breaks, next to what hookbus does."""

from __future__ import annotations

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler

from hookbus.adapters import llama_index

from .llama_index_parts import DONE, QUIET, agent_of, asking, told, tool_of
from .tool_contract import ANN, SECRET, Tool

pytestmark = QUIET


@pytest.fixture
def heard():
    """The events that its instrumentation tells of a run."""
    names = []

    class Handler(BaseEventHandler):
        def handle(self, event, **kwargs):
            names.append(event.class_name())

    dispatcher, handler = get_dispatcher(), Handler()
    dispatcher.add_event_handler(handler)
    yield names
    dispatcher.event_handlers.remove(handler)


def broken(*args, **kwargs):
    raise LookupError("the policy is in /secret/file")


def agent(body, **options):
    return agent_of(asking("pay", ANN), DONE, tools=[tool_of(body, **options)])


class TestItsOwn:
    async def test_its_instrumentation_tells_of_no_tool_call_of_an_agent(self, heard):
        tool = Tool()
        assert (await told(agent(tool))).went_on
        assert tool.paid == [(1, "ann")] and heard != []
        assert not [name for name in heard if "Tool" in name]

    async def test_a_callback_of_a_tool_comes_after_it_and_its_errors_are_told_to_the_model(self):
        tool = Tool()
        read = await told(agent(tool, callback=broken, async_callback=broken))
        assert tool.paid == [(1, "ann")] and "/secret/file" in read.answers[0]

    async def test_a_callback_that_redacts_leaves_the_secret_in_the_raw_output(self):
        redact = "paid".format
        read = await told(agent(Tool(), callback=lambda raw: redact()))
        assert SECRET not in read.answers[0] and SECRET in read.everything


class TestHookbus:
    @pytest.fixture(autouse=True)
    def installed(self, bus):
        undo = llama_index.install(bus)
        yield
        undo()

    async def test_a_guard_that_raises_closes_and_its_text_stays(self, bus):
        bus.signal("pre_tool_call").connect(lambda sender: broken(), role="guard")
        tool = Tool()
        read = await told(agent(tool))
        assert tool.paid == [] and "guard failed" in read.answers[0]
        assert "/secret/file" not in read.everything

    async def test_a_redactor_leaves_no_copy(self, bus):
        bus.signal("post_tool_call").connect(lambda sender: "paid", on_error="block")
        read = await told(agent(Tool()))
        assert read.answers == ["paid"] and SECRET not in read.everything
