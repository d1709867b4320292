"""What is CrewAI's own: answers that are results, its cache, work that is delegated, its models."""

from __future__ import annotations

from .crewai_parts import (
    DONE,
    QUIET,
    Scripted,
    acting,
    agent_of,
    asking,
    calling,
    crew_of,
    tool_of,
    writing,
)

# isort: split
import pytest
from crewai.mcp.client import MCPClient
from crewai.tools import BaseTool
from crewai.tools.mcp_native_tool import MCPNativeTool
from crewai.tools.tool_failure import (
    ToolExecutionFailedError,
    ToolFailure,
    ToolFailurePolicy,
    ToolFailureReason,
)
from pydantic import BaseModel

from hookbus import Block
from hookbus.adapters import crewai
from hookbus.events import Finished
from hookbus.testing import record

from .tool_contract import ANN, Tool

pytestmark = QUIET


@pytest.fixture
def crew(bus):
    undo = crewai.install(bus)
    yield bus
    undo()


def refuse(bus, **when):
    bus.signal("pre_tool_call").connect(lambda sender: Block("not that"), role="guard", when=when)


def asking_for(kind):
    return calling(asking("pay", ANN)) if kind == "functions" else writing(*acting("pay", ANN))


ways = pytest.mark.parametrize("way", ["functions", "actions"])


class TestResults:
    @ways
    def test_a_refusal_is_not_the_answer_where_results_are(self, crew, way):
        refuse(crew, name="pay")
        pay = tool_of(Tool(), result_as_answer=True)
        assert str(crew_of(agent_of(asking_for(way), pay)).kickoff()) == "done"

    @ways
    def test_a_changed_result_is_the_answer_where_results_are(self, crew, way):
        crew.signal("post_tool_call").connect(lambda sender: "that is all", on_error="block")
        pay = tool_of(Tool(), result_as_answer=True)
        assert str(crew_of(agent_of(asking_for(way), pay)).kickoff()) == "that is all"

    @ways
    def test_who_asks_for_it_gets_an_error(self, crew, way):
        refuse(crew, name="pay")
        agent = agent_of(
            asking_for(way), tool_of(Tool()), tool_failure_policy=ToolFailurePolicy.RAISE
        )
        with pytest.raises(ToolExecutionFailedError, match="not that"):
            crew_of(agent).kickoff()

    @ways
    def test_a_refusal_is_not_cached(self, crew, way):
        asked = []

        @crew.signal("pre_tool_call").connect_via(role="guard")
        def not_at_first(sender):
            asked.append(sender)
            return Block("not yet") if len(asked) == 1 else None

        tool = Tool()
        again = [asking("pay", ANN)] * 2
        other = acting("pay", ANN, {"amount": 3, "to": "bob"}, ANN)
        model = calling(*again) if way == "functions" else writing(*other)
        crew_of(agent_of(model, tool_of(tool)), cache=True).kickoff()
        assert tool.paid[-1] == (1, "ann")

    def test_a_model_as_result_is_shown_as_data_and_packed_again(self, crew):
        class Balance(BaseModel):
            sum: int
            pin: str

        class Telling(BaseTool):
            name: str = "balance"
            description: str = "Tell."

            def _run(self) -> Balance:
                return Balance(sum=7, pin="4711")

        @crew.signal("post_tool_call").connect_via(on_error="block")
        def no_pins(sender, result):
            return {**result, "pin": "*"}

        assert Telling().run() == Balance(sum=7, pin="*")
        agent = agent_of(calling(asking("balance", {})), Telling())
        crew_of(agent).kickoff()
        assert "sum=7" in str(agent.llm.read) and "4711" not in str(agent.llm.read)

    def test_a_result_that_is_no_such_model_any_more_is_what_it_is(self, crew):
        class Balance(BaseModel):
            sum: int

        class Telling(BaseTool):
            name: str = "balance"
            description: str = "Tell."

            def _run(self) -> Balance:
                return Balance(sum=7)

        crew.signal("post_tool_call").connect(lambda sender: {"sum": "hidden"})
        assert Telling().run() == {"sum": "hidden"}

    def test_a_failure_of_the_tools_own_stays_one_when_its_text_is_changed(self, crew):
        failed = ToolFailure(
            message="no such pin: 4711", code="4711", reason=ToolFailureReason.MCP_ERROR,
            details={"pin": "4711"},
        )  # fmt: skip
        pay = tool_of(lambda amount, to: failed)
        assert pay.run(**ANN) is failed

        @crew.signal("post_tool_call").connect_via(on_error="block")
        def no_pins(sender, result):
            return result.replace("4711", "*")

        found = pay.run(**ANN)
        assert found.reason == ToolFailureReason.MCP_ERROR and "4711" not in repr(found)
        assert found.message == "no such pin: * (code: *)"


class TestTools:
    @ways
    def test_agents_that_have_run_before_are_covered(self, bus, way):
        tool = Tool()
        agent = agent_of(asking_for(way), tool_of(tool))
        crew = crew_of(agent, cache=False)
        crew.kickoff()
        refuse(bus, name="pay")
        undo = crewai.install(bus)
        try:
            agent.llm.answers = asking_for(way).answers
            crew.kickoff()
        finally:
            undo()
        assert tool.paid == [(1, "ann")]

    @ways
    def test_refused_work_is_not_delegated_and_the_manager_goes_on(self, crew, way):
        refuse(crew, name="delegate_work_to_coworker", kind="agent")
        inner = agent_of(calling())
        asked = {"task": "pay", "context": "none", "coworker": "payer"}
        name = "delegate_work_to_coworker"
        model = (
            calling(asking(name, asked)) if way == "functions" else writing(*acting(name, asked))
        )
        outer = agent_of(model, role="manager", allow_delegation=True)
        assert str(crew_of(outer, inner).kickoff()) == "done"
        assert inner.llm.read == "" and "not that" in str(model.read)

    def test_tools_of_servers_are_told_apart(self, crew):
        refuse(crew, name="bank_pay", kind="mcp")
        made = []
        pay = MCPNativeTool(
            client_factory=lambda: made.append(MCPClient), tool_name="pay", tool_schema={},
            server_name="bank",
        )  # fmt: skip
        assert "not that" in pay.run().message and made == []

    @pytest.mark.parametrize("call", [
        lambda pay: pay.run(1, "ann"), lambda pay: pay.run(1, to="ann"),
        lambda pay: pay.to_structured_tool().invoke('{"amount": 1, "to": "ann"}'),
        lambda pay: pay.to_structured_tool()._run(1, "ann"),
    ])  # fmt: skip
    def test_arguments_have_names_however_they_are_given(self, crew, call):
        seen = []
        crew.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments), role="observe"
        )
        assert call(tool_of(lambda amount, to: f"{amount} {to}")) == "1 ann" and seen == [ANN]

    def test_what_is_no_json_is_crewais_to_refuse(self, crew):
        with pytest.raises(ValueError, match="Failed to parse arguments"):
            tool_of(Tool()).to_structured_tool().invoke("amount 1")


class TestModels:
    def test_a_model_is_asked_once_and_sees_what_was_changed(self, crew):
        class Louder(Scripted):
            def call(self, messages, *args, **options):
                return super().call(messages, *args, **options)

        @crew.signal("pre_model_call").connect_via()
        def be_brief(sender, messages, options):
            assert "from_agent" in options
            return {"messages": [*messages, {"role": "system", "content": "be brief"}]}

        model = Louder(model="scripted", answers=["done"])
        with record(crew) as fired:
            assert str(crew_of(agent_of(model)).kickoff()) == "done"
        assert model.read[-1]["content"] == "be brief"
        assert [each.hook for each in fired.of(Finished)] == ["model_call"]

    async def test_an_async_one_too(self, crew):
        with record(crew) as fired:
            assert await calling().acall("hello") == "done"
        assert [each.hook for each in fired.of(Finished)] == ["model_call"]

    def test_a_refused_model_call_ends_the_run(self, crew):
        crew.signal("pre_model_call").connect(lambda sender: Block("too dear"), role="guard")
        with pytest.raises(Exception, match="too dear"):
            crew_of(agent_of(writing(DONE))).kickoff()
