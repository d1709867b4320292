"""A guard asks; the run has `interruptions`, and goes on with a `RunState` that says yes or no."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, Runner, RunState
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus import Ask, Bus
from hookbus.adapters import openai_agents
from hookbus.approvals import Approved, Store

from .approving import ANN, PausedContract
from .test_openai_agents_contract import told, tool_of
from .test_openai_agents_places import (
    CHANGED,
    computer,
    custom,
    local_shell,
    patch,
    said,
    shell,
    two_agents,
)

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
        request = [each for each in asked if each.baggage["call_id"] == item.call_id][-1]
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


def patches(ran: Any) -> Any:
    tool, call = patch(ran)
    operations = [{"type": "create_file", "path": path, "diff": "+x"} for path in ("x", "z")]
    object.__setattr__(call, "__pydantic_extra__", {"operations": operations})
    return tool, call


class TestItsOwnTools:
    """Custom and shell tools and patches are interrupted; what the SDK cannot interrupt waits."""

    interrupts = pytest.mark.parametrize("make", [custom, shell, patch], ids=lambda it: it.__name__)

    @pytest.fixture
    def store(self, tmp_path):
        return Store(tmp_path / "approvals.db")

    @pytest.fixture
    def bus(self, store):
        bus = Bus()
        undo = openai_agents.install(bus, approver=store)
        bus.signal("pre_tool_call").connect(lambda sender: Ask("now?"), role="guard", weak=False)
        yield bus
        undo()

    async def begin(self, make: Any, call_id: str = "1", **options: Any) -> Any:
        ran: list[str] = []
        tool, call = make(ran)
        call.call_id = call_id
        for name, value in options.items():
            setattr(tool, name, value)
        agent = Agent("a", model=ScriptedModel([[call], DONE]), tools=[tool])
        return ran, agent, await Runner.run(agent, "go")

    async def kept(self, agent: Any, result: Any) -> Any:
        return await RunState.from_string(agent, result.to_state().to_string())

    @interrupts
    async def test_a_yes_lets_the_call_run_once(self, bus, make, store):
        ran, agent, result = await self.begin(make)
        [item], state = result.interruptions, await self.kept(agent, result)
        assert ran == [] and store.pending()[0].baggage["call_id"] == item.call_id
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state)
        assert ran == ["x"] and result.final_output == "done" and "4711" in said(agent.model)
        assert [case.state for case in store.history()] == ["used"]

    @interrupts
    async def test_a_no_is_what_the_model_reads(self, bus, make):
        ran, agent, result = await self.begin(make)
        state = result.to_state()
        state.reject(result.interruptions[0], rejection_message="not today")
        result = await Runner.run(agent, state)
        assert ran == [] and result.final_output == "done" and "not today" in said(agent.model)

    @interrupts
    async def test_without_an_answer_it_is_interrupted_again(self, bus, make, store):
        ran, agent, result = await self.begin(make)
        result = await Runner.run(agent, result.to_state())
        assert ran == [] and len(result.interruptions) == len(store.pending()) == 1

    @interrupts
    async def test_who_answers_at_the_store_may_edit(self, bus, make, store):
        ran, agent, result = await self.begin(make)
        [request] = store.pending()
        edited = {**request.arguments["arguments"], **CHANGED[make]}
        changed = {**request.arguments, "arguments": edited}
        store.answer(request.id, Approved("grace", arguments=changed))
        state = result.to_state()
        state.approve(result.interruptions[0])
        await Runner.run(agent, state)
        assert ran == ["y"]

    @interrupts
    async def test_a_callback_of_the_tool_says_no_yes_to_a_guard(self, bus, make):
        async def approves(context: Any, item: Any) -> dict[str, Any]:
            return {"approve": True}

        ran, agent, result = await self.begin(make, on_approval=approves)
        assert ran == [] and len(result.interruptions) == 1

    @interrupts
    async def test_what_was_approved_before_a_guard_asked_is_no_yes_to_it(self, bus, make, store):
        ran, agent, result = await self.begin(make, needs_approval=True)
        state = result.to_state()
        state.approve(result.interruptions[0])  # the SDK asked, no guard has yet
        await Runner.run(agent, state)
        assert ran == [] and store.pending()[0].id in said(agent.model)

    @pytest.mark.parametrize(
        "make, asked", [(local_shell, 1), (computer, 1), (patches, 2)], ids=["shell", "pc", "patch"]
    )
    async def test_what_cannot_be_interrupted_is_blocked_and_waits_in_the_store(
        self, bus, make, asked, store
    ):
        ran, agent, result = await self.begin(make)
        assert ran == [] and result.interruptions == [] and result.final_output == "done"
        waiting = [request.id in said(agent.model) for request in store.pending()]
        assert waiting == [True] * asked
        for request in store.pending():
            store.answer(request.id, Approved("grace"))
        again = [(await self.begin(make, call_id))[0] for call_id in ("2", "3")]
        assert "x" in again[0] and again[1] == []

    async def test_nor_is_a_hand_off(self, bus, store):
        boss, _, model = two_agents()
        result = await Runner.run(boss, "go")
        assert result.last_agent is boss and result.interruptions == []
        [request] = store.pending()
        assert request.id in said(model)
        store.answer(request.id, Approved("grace"))
        boss, clerk, _ = two_agents(call_id="another")
        assert (await Runner.run(boss, "go")).last_agent is clerk
