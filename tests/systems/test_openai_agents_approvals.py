"""A guard asks; the run has `interruptions`, and goes on with a `RunState` that says yes or no."""

from __future__ import annotations

from typing import Any

from agents import Agent, Runner, RunState
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus.adapters import openai_agents
from hookbus.approvals import Store

from .approving import ANN, PausedContract
from .test_openai_agents_contract import told, tool_of

DONE = [assistant_message("done")]


def clerk(body: Any, steps: Any, **options: Any) -> Agent[Any]:
    tool = tool_of(body)
    for name, value in options.items():
        setattr(tool, name, value)
    return Agent("clerk", model=ScriptedModel(steps), tools=[tool])


class TestInterruptions(PausedContract):
    adapter = "openai_agents"
    install = staticmethod(openai_agents.install)

    async def begin(self, body, calls, saved):
        asks = [function_call("pay", args, call_id=f"call-{i}") for i, args in enumerate(calls)]
        return await self._run(clerk(body, [asks, DONE]), "go", saved)

    async def go_on(self, body, calls, saved, answers):
        agent = clerk(body, [DONE])
        state = await RunState.from_string(agent, saved.read_text())
        said = {each["id"]: each for each in answers}
        for item in state.get_interruptions():
            answer = said.get(self._shown(item, saved)["id"])
            if not answers or answer is not None and answer["approved"]:
                state.approve(item)  # whoever answers at the store does this, too
            elif answer is not None:
                state.reject(item, rejection_message=answer["reason"])
        return await self._run(agent, state, saved)

    async def _run(self, agent: Any, given: Any, saved: Any) -> Any:
        result = await Runner.run(agent, given)
        saved.write_text(result.to_state().to_string())
        if result.interruptions:
            return [self._shown(item, saved) for item in result.interruptions]
        return told(agent.model, result)

    def _shown(self, item: Any, saved: Any) -> dict[str, Any]:
        """The SDK shows what the model asked for; the store, what will run."""
        asked = [case.request for case in Store(saved.parent / "approvals.db").history()]
        request = [each for each in asked if each.surrounding["call_id"] == item.call_id][-1]
        return {"id": request.id, "question": request.question, "tool": item.tool_name,
                "arguments": request.arguments["arguments"]}  # fmt: skip

    async def test_what_was_approved_before_a_guard_asked_is_no_yes_to_it(
        self, bus, tool, saved, store
    ):
        asks = [function_call("pay", ANN, call_id="call-0")]
        result = await Runner.run(clerk(tool, [asks], needs_approval=True), "go")
        saved.write_text(result.to_state().to_string())
        agent = clerk(tool, [DONE], needs_approval=True)
        state = await RunState.from_string(agent, saved.read_text())
        state.approve(state.get_interruptions()[0])  # the SDK asked, no guard has yet
        told_of = await self._run(agent, state, saved)
        [request] = store.pending()
        assert tool.paid == [] and request.id in told_of.answers[0]

    async def test_a_yes_for_always_is_none_for_the_next_call(self, bus, tool, saved, store):
        asked = await self.begin(tool, [ANN], saved)
        asks = [function_call("pay", {"amount": 2, "to": "bob"}, call_id="call-1")]
        agent = clerk(tool, [asks, DONE])
        state = await RunState.from_string(agent, saved.read_text())
        state.approve(state.get_interruptions()[0], always_approve=True)
        found = await self._run(agent, state, saved)
        assert asked and tool.paid == [(1, "ann")]
        assert store.pending()[0].id in found.answers[1]
