"""What is smolagents' own: its final answer, its managed agents, its code, its models and runs."""

from __future__ import annotations

from typing import Any

import pytest
from smolagents import CodeAgent, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessageStreamDelta

from hookbus import Block, HookBlocked
from hookbus.adapters import smolagents
from hookbus.events import Finished
from hookbus.testing import record

from .smolagents_parts import DONE, QUIET, Scripted, asking, calling, coded, everything, tool_of
from .tool_contract import ANN


@pytest.fixture
def smol(bus):
    undo = smolagents.install(bus)
    yield bus
    undo()


def refuse(bus: Any, name: str, reason: str = "not that") -> None:
    bus.signal("pre_tool_call").connect(
        lambda sender: Block(reason), role="guard", when={"name": name}
    )


class TestWhatIsSpecial:
    def test_a_refused_final_answer_is_none_and_the_model_reads_why(self, smol):
        @smol.signal("pre_tool_call").connect_via(role="guard", when={"kind": "output"})
        def no_pins(sender, arguments):
            return Block("a pin stays here") if "pin" in arguments["answer"] else None

        agent = calling([], asking("final_answer", {"answer": "the pin is 4711"}))
        assert agent.run("go") == "done"
        assert "a pin stays here" in agent.memory.steps[1].error.message
        coding = CodeAgent([], Scripted('<code>final_answer("pin")</code>', *coded()), **QUIET)
        assert coding.run("go") == "done"
        assert "a pin stays here" in coding.memory.steps[1].error.message

    def test_the_final_answer_can_be_changed(self, smol):
        smol.signal("post_tool_call").connect(
            lambda sender, result: f"{result}!", when={"kind": "output"}, on_error="block"
        )
        assert calling([]).run("go") == "done!"
        assert CodeAgent([], Scripted(*coded()), **QUIET).run("go") == "done!"

    def test_a_refused_managed_agent_does_not_run_and_its_manager_goes_on(self, smol):
        refuse(smol, "payer")
        for manager in (
            calling([], asking("payer", {"task": "pay"}), managed_agents=[inner := self._inner()]),
            CodeAgent([], Scripted(*coded("payer('pay')")), managed_agents=[inner], **QUIET),
        ):
            assert manager.run("go") == "done" and not hasattr(inner, "task")
            assert "not that" in everything(manager)

    def _inner(self) -> ToolCallingAgent:
        inner = calling([], name="payer", description="Pays.")
        del inner.task
        return inner

    def test_who_manages_is_seen_and_what_kind_it_is(self, smol):
        seen = []
        smol.signal("pre_tool_call").connect(
            lambda sender, name, kind, caller: seen.append((name, kind, caller)), role="observe"
        )
        inner = self._inner()
        manager = calling([], asking("payer", {"task": "pay"}), managed_agents=[inner])
        manager.run("go")
        assert seen == [
            ("payer", "agent", manager), ("final_answer", "output", inner),
            ("final_answer", "output", manager),
        ]  # fmt: skip

    def test_code_that_was_refused_stops_where_it_was(self, smol):
        refuse(smol, "pay")
        done = []
        pay = tool_of(lambda amount, to: "paid")
        model = Scripted(*coded("x = pay(1, 'ann')\nnote(x)"))
        agent = CodeAgent([pay], model, **QUIET)
        agent.python_executor.additional_functions["note"] = done.append
        assert agent.run("go") == "done" and done == []

    def test_a_tool_that_calls_another_one_is_a_program(self, smol):
        refuse(smol, "pay")
        pay, caught = tool_of(lambda amount, to: "paid"), []

        @tool
        def pay_all(to: str) -> str:
            """Pay.

            Args:
                to: who.
            """
            try:
                return pay(1, to)
            except HookBlocked as blocked:
                caught.append(blocked)
                return "could not"

        agent = calling([pay_all], asking("pay_all", {"to": "ann"}))
        assert agent.run("go") == "done" and len(caught) == 1

    @pytest.mark.parametrize("call", [
        lambda pay: pay(1, "ann"), lambda pay: pay(1, to="ann"),
        lambda pay: pay(amount=1, to="ann"), lambda pay: pay({"amount": 1, "to": "ann"}),
    ])  # fmt: skip
    def test_arguments_have_names_however_they_are_given(self, smol, call):
        seen = []
        smol.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments), role="observe"
        )
        assert call(tool_of(lambda amount, to: f"{amount} {to}")) == "1 ann" and seen == [ANN]

    def test_plain_data_is_shown_and_changed(self, smol):
        class Balance(Tool):
            name, description, inputs, output_type = "balance", "Tells.", {}, "object"

            def forward(self):
                return {"sum": 7, "pin": "4711"}

        smol.signal("post_tool_call").connect(
            lambda sender, result: {**result, "pin": "*"} if isinstance(result, dict) else None,
            on_error="block",
        )
        agent = calling([Balance()], asking("balance", {}))
        agent.run("go")
        assert "'sum': 7" in everything(agent) and "4711" not in everything(agent)


class TestModelsAndRuns:
    def test_a_model_is_asked_once_and_its_answer_can_be_changed(self, smol):
        class Louder(Scripted):
            def generate(self, messages, **options):
                return super().generate(messages, **options)

        @smol.signal("post_model_call").connect_via()
        def shout(sender, result):
            result.content = result.content.upper()
            return result

        with record(smol) as fired:
            answer = Louder("hello").generate([])
        assert answer.content == "HELLO"
        assert [each.hook for each in fired.of(Finished)] == ["model_call"]

    def test_a_refused_model_call_ends_the_run(self, smol):
        smol.signal("pre_model_call").connect(lambda sender: Block("too dear"), role="guard")
        with pytest.raises(Exception, match="too dear"):
            calling([]).run("go")

    def test_what_a_model_streams_is_seen_item_by_item(self, smol):
        seen = []
        smol.signal("item_model_stream").connect(lambda sender, item: seen.append(item))
        agent = calling([], asking("final_answer", {"answer": "done"}), stream_outputs=True)
        [*agent.run("go", stream=True)]
        assert [type(each) for each in seen] == [ChatMessageStreamDelta]

    def test_runs_are_hooked_whole_and_streamed(self, smol):
        seen = []
        smol.signal("pre_agent_run").connect(
            lambda sender, input: seen.append(input) or {"input": "leave"}
        )
        smol.signal("item_agent_stream").connect(lambda sender, item: seen.append(type(item)))
        agent = calling([], DONE)
        assert agent.run("go") == "done" and seen == ["go"] and agent.task == "leave"
        steps = [*agent.run("go", stream=True)]
        assert seen[1:] == [type(each) for each in steps]
