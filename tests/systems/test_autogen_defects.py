"""What AutoGen does with tools that refuse by themselves, and a guard there. It has no hooks before
tools: its `InterventionHandler` sees the messages between agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from autogen_agentchat.base import Handoff
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import DefaultInterventionHandler, DropMessage, SingleThreadedAgentRuntime
from autogen_core.tools import FunctionTool

from hookbus import Block, Bus
from hookbus.adapters import autogen

from .hangs import SECONDS
from .test_autogen_contract import agent_of, asking, scripted, told, tool_of
from .tool_contract import EVE, Tool


@pytest.fixture
def guarded():
    bus = Bus()
    undo = autogen.install(bus)
    bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard", name="guard")
    yield bus
    undo()


async def refuses() -> str:
    raise PermissionError("nobody is handed over")


class Refusing(Handoff):
    """A hand-off that refuses in the one place that AutoGen has for it: its tool."""

    @property
    def handoff_tool(self) -> Any:
        return FunctionTool(refuses, name=self.name, description="", strict=True)


class TellingNo(Handoff):
    """One that says no and does not raise."""

    @property
    def handoff_tool(self) -> Any:
        return FunctionTool(lambda: "Error: no", name=self.name, description="", strict=True)


async def handed_over(handoff: Handoff, seconds: float = 20) -> str:
    clerk = agent_of(scripted(asking([{}], "transfer_to_ann")), handoffs=[handoff])
    running = asyncio.ensure_future(clerk.run(task="go"))
    await asyncio.wait({running}, timeout=seconds)
    if running.cancel():
        return "it hangs"
    return str(running.result().messages[-1].type)


class TestAHandOffThatIsRefused:
    async def test_by_an_exception_hangs_the_run(self):
        assert await handed_over(Refusing(target="ann"), seconds=1) == "it hangs"

    async def test_by_a_text_happens(self):
        assert await handed_over(TellingNo(target="ann")) == "HandoffMessage"

    async def test_by_a_guard_does_not_happen_and_the_run_goes_on(self, guarded):
        assert await handed_over(Handoff(target="ann")) == "TextMessage"


class DropsCalls(DefaultInterventionHandler):
    """Drops whatever asks for a tool."""

    async def on_send(self, message: Any, *, message_context: Any, recipient: Any) -> Any:
        return DropMessage if "FunctionCall(" in repr(message) else message

    async def on_publish(self, message: Any, *, message_context: Any) -> Any:
        return DropMessage if "FunctionCall(" in repr(message) else message


class TestAToolOfAnAgent:
    async def test_has_run_before_a_handler_of_messages_sees_its_call(self):
        has_run = asyncio.Event()
        runtime = SingleThreadedAgentRuntime(intervention_handlers=[DropsCalls()])
        runtime.start()
        agent = agent_of(scripted(asking([EVE])), tool_of(lambda amount, to: has_run.set() or "ok"))
        team = RoundRobinGroupChat([agent], runtime=runtime)
        running = asyncio.ensure_future(team.run(task="go"))
        await asyncio.wait_for(has_run.wait(), SECONDS)
        running.cancel()
        await runtime.stop()

    async def test_is_asked_about_by_a_guard(self, guarded):
        paid = Tool()
        out = told(await agent_of(scripted(asking([EVE])), tool_of(paid)).run(task="go"))
        assert paid.paid == [] and "blocked by guard: no" in out.answers[0] and out.went_on
