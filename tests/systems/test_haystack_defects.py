"""What Haystack's own hooks do when they break or are passed by, and what a guard does there."""

from __future__ import annotations

from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.hooks import hook
from haystack.tools import AgentTool

from hookbus import Block, Bus
from hookbus.adapters import haystack

from .test_haystack_contract import GO, agent_of, scripted, told, tool_of
from .tool_contract import ANN, EVE, Tool


@hook
def broken(state: State) -> None:
    raise LookupError("the policy is gone")


@hook
def not_to_eve(state: State) -> None:
    for call in state.data["messages"][-1].tool_calls:
        if call.arguments.get("to") == "eve":
            raise PermissionError("eve is not allowed")


@pytest.fixture
def paid():
    return Tool()


@pytest.fixture
def guarded():
    bus = Bus()
    undo = haystack.install(bus)

    @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "pay"})
    def not_to_eve(sender, arguments):
        return Block("eve is not allowed") if arguments["to"] == "eve" else None

    yield bus
    undo()


def delegated(paid: Any, **options: Any) -> Any:
    """Have an agent ask another one, which pays Eve."""
    inner = AgentTool(agent_of([EVE], tool_of(paid)), name="bank", description="Pays.")
    asked = {"messages": [{"role": "user", "content": "go"}]}
    return Agent(chat_generator=scripted([asked], "bank"), tools=[inner], **options).run(GO)


def from_state(paid: Any, **options: Any) -> Any:
    """Have an agent whose state, not its model, says who is paid."""
    tool = tool_of(paid, inputs_from_state={"payee": "to"})
    state = {"payee": {"type": str}}
    agent = agent_of([{"amount": 2}], tool, state_schema=state, **options)
    return agent.run(GO, payee="eve")


class TestABrokenHook:
    def test_of_haystack_ends_the_run(self, paid):
        with pytest.raises(LookupError):
            agent_of([EVE], tool_of(paid), hooks={"before_tool": [broken]}).run(GO)

    def test_of_hookbus_closes_one_call_and_the_run_goes_on(self, paid, guarded):
        @guarded.signal("pre_tool_call").connect_via(role="guard")
        def broken(sender):
            raise LookupError("the policy is gone")

        out = told(agent_of([ANN], tool_of(paid)).run(GO))
        assert paid.paid == [] and "guard failed" in out.answers[0] and out.went_on


class TestAHookOfTheOuterAgent:
    def test_of_haystack_is_not_asked_about_an_inner_agents_tools(self, paid):
        delegated(paid, hooks={"before_tool": [not_to_eve]})
        assert paid.paid == [(2, "eve")]

    def test_of_hookbus_is(self, paid, guarded):
        delegated(paid)
        assert paid.paid == []


class TestArgumentsFromTheState:
    def test_come_after_haystacks_hooks(self, paid):
        from_state(paid, hooks={"before_tool": [not_to_eve]})
        assert paid.paid == [(2, "eve")]

    def test_are_what_a_guard_of_hookbus_sees(self, paid, guarded):
        out = told(from_state(paid))
        assert paid.paid == [] and "eve is not allowed" in out.answers[0]
