"""What guardrails of the OpenAI Agents SDK let pass, and what a guard does in the same place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    RunHooks,
    Runner,
    UserError,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus import Block
from hookbus.adapters import openai_agents

from .hangs import SECONDS

set_tracing_disabled(True)  # it wants a key


class Till:
    """An agent that pays Eve, and what it paid."""

    def __init__(self, guardrails: Any = ()) -> None:
        @function_tool
        def pay(to: str) -> str:
            self.paid.append(to)
            self.has_paid.set()
            return f"paid {to}"

        self.paid: list[str] = []
        self.has_paid = asyncio.Event()
        asks = [function_call("pay", {"to": "eve"}, call_id="1")]
        self.model = ScriptedModel([asks, [assistant_message("done")]])
        self.agent = Agent("clerk", model=self.model, tools=[pay],
                           input_guardrails=[*guardrails])  # fmt: skip

    def behind(self) -> Agent[Any]:
        """Return an agent that hands off to this one."""
        hands = [function_call("transfer_to_clerk", {}, call_id="h")]
        return Agent("boss", model=ScriptedModel([hands]), handoffs=[self.agent])


@pytest.fixture
def guard(bus):
    asked = []

    @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "pay"})
    async def nothing_to_eve(tool, arguments):
        asked.append(arguments["to"])
        await asyncio.sleep(0.05)  # asks somebody, say
        return Block("eve is not allowed")

    undo = openai_agents.install(bus)
    yield asked
    undo()


async def test_an_input_guardrail_says_no_when_the_tool_has_run():
    @input_guardrail
    async def slow(context, agent, input):
        await asyncio.wait_for(till.has_paid.wait(), SECONDS)  # however long it thinks
        return GuardrailFunctionOutput(None, tripwire_triggered=True)

    till = Till([slow])
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(till.agent, "pay eve")
    assert till.paid == ["eve"]


async def test_a_guard_of_the_call_is_waited_for(guard):
    till = Till()
    assert (await Runner.run(till.agent, "pay eve")).final_output == "done"
    assert guard == ["eve"] and till.paid == []
    assert "eve is not allowed" in repr(till.model.calls[1].input)


async def test_input_guardrails_of_an_agent_that_is_handed_to_are_not_asked():
    asked = []

    @input_guardrail(run_in_parallel=False)
    async def never(context, agent, input):
        asked.append(agent.name)
        return GuardrailFunctionOutput(None, tripwire_triggered=True)

    till = Till([never])
    assert (await Runner.run(till.behind(), "pay eve")).final_output == "done"
    assert asked == [] and till.paid == ["eve"]


async def test_a_guard_is_asked_whoever_has_handed_to_whom(guard):
    till = Till()
    assert (await Runner.run(till.behind(), "pay eve")).final_output == "done"
    assert guard == ["eve"] and till.paid == []


async def test_run_hooks_refuse_a_call_only_by_ending_the_run():
    class Refusing(RunHooks):
        async def on_tool_start(self, context, agent, tool):
            raise PermissionError("eve is not allowed")

    till = Till()
    with pytest.raises(UserError, match="eve is not allowed"):
        await Runner.run(till.agent, "pay eve", hooks=Refusing())
    assert till.paid == [] and len(till.model.calls) == 1
