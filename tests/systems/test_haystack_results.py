"""What Haystack keeps of a changed result, and whom it tells of a refused call."""

from __future__ import annotations

import pytest
from haystack import Document
from haystack.components.agents import Agent
from haystack.tools import AgentTool, Tool
from haystack.tools.errors import ToolInvocationError

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import haystack

from .test_haystack_contract import GO, PARAMETERS, agent_of, scripted, told, tool_of
from .tool_contract import ANN, SECRET


@pytest.fixture
def bus():
    bus = Bus(values=True)
    undo = haystack.install(bus)
    yield bus
    undo()


PIN, WEATHER = Document(content=f"the pin is {SECRET}"), Document(content="it rains")


class Kept:
    """An agent whose tool finds two documents, which are told and kept in its state."""

    def __init__(self) -> None:
        tool = Tool(
            "find", "Find.", {"type": "object", "properties": {}},
            function=lambda: {"documents": [PIN, WEATHER]},
            outputs_to_state={"documents": {"source": "documents"}},
        )  # fmt: skip
        self.out = Agent(
            chat_generator=scripted([{}], "find"), tools=[tool],
            state_schema={"documents": {"type": list[Document]}},
        ).run(GO)  # fmt: skip


class TestDocuments:
    def test_receivers_see_them_as_dicts_and_the_agent_keeps_its_own_objects(self, bus):
        seen = []
        bus.signal("post_tool_call").connect(
            lambda sender, result: seen.append(result), role="observe"
        )
        found = Kept().out["documents"]
        assert [each["content"] for each in seen[0]["documents"]] == [PIN.content, "it rains"]
        assert found[0] is PIN and found[1] is WEATHER

    def test_changed_ones_are_documents_again_in_the_message_and_in_the_state(self, bus):
        def without_pins(sender, result):
            return {"documents": [
                {**each, "content": each["content"].replace(SECRET, "****")}
                for each in result["documents"]
            ]}  # fmt: skip

        bus.signal("post_tool_call").connect(without_pins)
        out = Kept().out
        assert [each.content for each in out["documents"]] == ["the pin is ****", "it rains"]
        assert "the pin is ****" in told(out).answers[0] and SECRET not in repr(out)

    def test_some_can_be_taken_out(self, bus):
        bus.signal("post_tool_call").connect(
            lambda sender, result: {"documents": result["documents"][1:]}
        )
        out = Kept().out
        assert out["documents"] == [WEATHER] and SECRET not in repr(out)

    def test_a_text_instead_of_them_leaves_none_in_the_state(self, bus):
        bus.signal("post_tool_call").connect(lambda sender, result: "nothing found")
        out = Kept().out
        assert told(out).answers == ["nothing found"] and SECRET not in repr(out)


class TestWhoIsTold:
    def refuse(self, bus):
        bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard", name="guard")

    def test_a_refused_tool_does_not_end_the_run_that_it_is_an_exit_of(self, bus):
        self.refuse(bus)
        out = agent_of([ANN], tool_of(str), exit_conditions=["pay"]).run(GO)
        assert out["exit_reason"] == "text" and out["last_message"].text == "done"
        assert out["messages"][-2].tool_call_result.error

    def test_an_agent_that_raises_when_a_tool_fails_raises_a_refusal(self, bus):
        self.refuse(bus)
        agent = agent_of([ANN], tool_of(str), raise_on_tool_invocation_failure=True)
        with pytest.raises(HookBlocked, match="Error: the call was blocked by guard: no") as told:
            agent.run(GO)
        assert isinstance(told.value, ToolInvocationError) and told.value.tool_name == "pay"

    def test_a_text_instead_of_an_agents_answer_is_its_answer(self, bus):
        bus.signal("pre_tool_call").connect(lambda sender: Block("no", result="not today"))
        inner = AgentTool(agent_of([ANN], tool_of(str)), name="bank", description="Pays.")
        outer = Agent(
            chat_generator=scripted([{"messages": []}], "bank"), tools=[inner],
            raise_on_tool_invocation_failure=True,
        )  # fmt: skip
        assert told(outer.run(GO)).answers == ["not today"]

    def test_a_tool_that_calls_another_is_told_of_that_ones_refusal(self, bus):
        bus.signal("pre_tool_call").connect(
            lambda sender: Block("no"), role="guard", when={"name": "pay"}
        )
        pay = tool_of(str)
        outer = Tool("both", "Both.", PARAMETERS, function=lambda **args: pay.invoke(**args))
        with pytest.raises(ToolInvocationError, match="Failed to invoke Tool `both`.*: no"):
            outer.invoke(**ANN)

    def test_an_agent_that_is_a_tool_is_of_that_kind(self, bus):
        kinds = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, kind: kinds.append((name, kind)), role="observe"
        )
        inner = AgentTool(
            agent_of([ANN], tool_of(lambda a, b: "paid")), name="bank", description=""
        )
        asked = {"messages": [{"role": "user", "content": "go"}]}
        Agent(chat_generator=scripted([asked], "bank"), tools=[inner]).run(GO)
        assert kinds == [("bank", "agent"), ("pay", "function")]
