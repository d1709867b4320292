"""What smolagents does when what stands for a hook breaks, next to what hookbus does."""

from __future__ import annotations

import pytest
from smolagents import ToolCallingAgent

from hookbus import Block
from hookbus.adapters import smolagents

from .smolagents_parts import DONE, QUIET, Scripted, asking, everything, tool_of
from .tool_contract import ANN, EVE, SECRET, Tool


def agent_of(body, **options):
    model = Scripted(asking("pay", ANN, EVE), DONE)
    return ToolCallingAgent([tool_of(body)], model, **QUIET, **options)


class TestItsOwn:
    def test_a_tool_that_refuses_by_raising_takes_the_results_of_its_siblings_along(self):
        paid = Tool()

        def pay(amount, to):
            if to == "eve":
                raise PermissionError("eve is not allowed")
            return paid(amount, to)

        agent = agent_of(pay)
        agent.run("go")
        assert paid.paid == [(1, "ann")]
        assert SECRET not in everything(agent), "the model knows that it has paid"
        assert "Please try again" in agent.memory.steps[1].error.message

    def test_its_callbacks_come_after_the_tools(self):
        paid = Tool()

        def guard(step, agent):
            raise PermissionError("nothing is paid today")

        with pytest.raises(PermissionError):
            agent_of(paid, step_callbacks=[guard]).run("go")
        assert sorted(paid.paid) == [(1, "ann"), (2, "eve")]


class TestHookbus:
    def test_one_is_refused_and_its_sibling_keeps_its_result(self, bus):
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: (
                Block("eve is not allowed") if arguments.get("to") == "eve" else None
            ),
            role="guard",
        )
        paid, undo = Tool(), smolagents.install(bus)
        try:
            agent = agent_of(paid)
            assert agent.run("go") == "done"
        finally:
            undo()
        assert paid.paid == [(1, "ann")] and agent.memory.steps[1].error is None
        assert SECRET in everything(agent) and "eve is not allowed" in everything(agent)
