"""What is LlamaIndex's own: results in two places, hand-offs, direct returns, its models."""

import asyncio
import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.workflow import Context

from hookbus import Block, HookBlocked
from hookbus.adapters import llama_index
from hookbus.events import Finished
from hookbus.testing import record

from .llama_index_parts import DONE, QUIET, agent_of, asking, scripted, told, tool_of
from .tool_contract import ANN, Tool

pytestmark = QUIET


@pytest.fixture
def index(bus):
    undo = llama_index.install(bus)
    yield bus
    undo()


def refuse(bus, **when):
    bus.signal("pre_tool_call").connect(lambda sender: Block("not that"), role="guard", when=when)


class TestResults:
    def test_data_is_shown_and_changed_in_both_places(self, index):
        def balance() -> dict:
            """Tell."""
            return {"sum": 7, "pin": "4711"}

        @index.signal("post_tool_call").connect_via(on_error="block")
        def no_pins(sender, result):
            return {**result, "pin": "*"}

        found = FunctionTool.from_defaults(balance).call()
        assert found.raw_output == {"sum": 7, "pin": "*"}
        assert found.content == str(found.raw_output) and "4711" not in repr(found)

    def test_a_text_that_was_made_of_it_is_shown_instead_and_replaces_both(self, index):
        seen = []

        @index.signal("post_tool_call").connect_via(on_error="block")
        def no_pins(sender, result):
            seen.append(result)
            return result.replace("4711", "*")

        pay = FunctionTool.from_defaults(
            lambda: {"pin": 4711}, name="balance", description="Tell.",
            callback=lambda raw: f"the pin is {raw['pin']}",
        )  # fmt: skip
        found = pay()
        assert seen == ["the pin is 4711"] and found.content == found.raw_output == "the pin is *"

    def test_a_result_that_is_not_changed_is_the_very_same(self, index):
        kept = ToolOutput("pay", "paid", raw_input={}, raw_output=object())
        tool = FunctionTool.from_defaults(
            lambda: "paid", name="pay", description="Pay.", callback=lambda raw: kept
        )
        assert tool() is kept

    def test_an_error_of_the_tools_own_stays_one_when_its_text_is_changed(self, index):
        failed = ToolOutput("pay", "no pin 4711", raw_input={}, raw_output="4711", is_error=True)
        tool = FunctionTool.from_defaults(
            lambda: "?", name="pay", description="Pay.", callback=lambda raw: failed
        )
        index.signal("post_tool_call").connect(lambda sender: "no pin *", on_error="block")
        assert tool().is_error and "4711" not in repr(tool())

    def test_a_refusal_carries_who_blocked_it(self, index):
        refuse(index, name="pay")
        found = tool_of(Tool()).call(**ANN)
        assert found.is_error and isinstance(found.exception, HookBlocked)
        assert found.content == found.raw_output and "not that" in found.content

    async def test_a_refusal_is_not_the_answer_of_a_tool_that_returns_directly(self, index):
        refuse(index, name="pay")
        pay = tool_of(Tool(), return_direct=True)
        assert (await told(agent_of(asking("pay", ANN), DONE, tools=[pay]))).went_on


class TestHandOffs:
    async def test_a_refused_one_does_not_happen_and_the_agent_reads_why(self, index):
        refuse(index, kind="handoff")
        other = agent_of(name="other", description="Else.")
        first = agent_of(
            asking("handoff", {"to_agent": "other", "reason": "?"}), DONE, name="first",
            description="First.", can_handoff_to=["other"],
        )  # fmt: skip
        workflow = AgentWorkflow(agents=[first, other], root_agent="first")
        assert (await told(first, workflow)).went_on
        assert other.llm.read == [] and "not that" in str(first.llm.read)


class TestArguments:
    @pytest.mark.parametrize("call", [
        lambda pay: pay(1, "ann"), lambda pay: pay.call(1, to="ann"), lambda pay: pay.call(**ANN),
        lambda pay: asyncio.run(pay.acall(1, "ann")), lambda pay: call_tool(pay, ANN),
    ])  # fmt: skip
    def test_they_have_names_however_they_are_given(self, index, call):
        seen = []
        index.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments), role="observe"
        )
        assert str(call(tool_of(lambda amount, to: f"{amount} {to}"))) == "1 ann" and seen == [ANN]

    @pytest.mark.parametrize("call", [
        lambda pay: pay(amount=1), lambda pay: pay.call(amount=1),
        lambda pay: asyncio.run(pay.acall(amount=1)),
    ])  # fmt: skip
    def test_those_that_a_tool_was_made_with_are_seen(self, index, call):
        seen = []
        index.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments), role="observe"
        )
        pay = tool_of(lambda amount, to: f"{amount} {to}", partial_params={"to": "ann"})
        assert str(call(pay)) == "1 ann" and seen == [ANN]

    async def test_the_workflows_context_is_the_tools_alone(self, index):
        seen, given = [], []

        async def note(ctx: Context, text: str) -> str:
            """Note."""
            given.append(ctx)
            return text

        index.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments), role="observe"
        )
        tools = [FunctionTool.from_defaults(async_fn=note)]
        await told(agent_of(asking("note", {"text": "x"}), DONE, tools=tools))
        assert seen == [{"text": "x"}] and isinstance(given[0], Context)


class Old(BaseTool):
    """A tool of the oldest kind, which is only called."""

    metadata = ToolMetadata("Say.", name="say")

    def __init__(self):
        self.said = []

    def __call__(self, input):
        self.said.append(input)
        return ToolOutput("say", input, raw_input={"input": input}, raw_output=input)


class TestToolsOfTheOldestKind:
    @pytest.mark.parametrize("call", [
        lambda tool: tool("hello"), lambda tool: call_tool(tool, {"input": "hello"}),
        lambda tool: asyncio.run(acall_tool(tool, {"input": "hello"})),
    ])  # fmt: skip
    def test_they_are_asked_once_and_are_the_sender(self, index, call):
        tool, asked = Old(), []

        @index.signal("pre_tool_call").connect_via(role="guard")
        def no(sender, arguments):
            asked.append((sender, arguments))
            return Block("not that")

        assert call(tool).is_error and tool.said == []
        assert asked == [(tool, {"input": "hello"})]


class TestModels:
    WAYS = pytest.mark.parametrize("way", ["chat", "achat", "complete", "acomplete"])

    @WAYS
    async def test_one_is_asked_once_and_its_answer_can_be_changed(self, index, way):
        @index.signal("post_model_call").connect_via()
        def shout(sender, result):
            if way.endswith("chat"):
                result.message = ChatMessage(content=result.message.content.upper())
            else:
                result.text = result.text.upper()
            return result

        with record(index) as fired:
            found = getattr(scripted(ChatMessage(content="hello")), way)(
                [] if way.endswith("chat") else "hello"
            )
            found = await found if way.startswith("a") else found
        assert "HELLO" in str(found)
        assert [each.hook for each in fired.of(Finished)] == ["model_call"]

    @pytest.mark.parametrize("way", ["stream_chat", "astream_chat"])
    async def test_what_it_streams_is_seen_item_by_item(self, index, way):
        seen = []
        index.signal("item_model_stream").connect(lambda sender, item: seen.append(item))
        items = getattr(scripted(ChatMessage(content="hello")), way)([])
        if way == "stream_chat":
            got = list(items)
        else:
            got = [item async for item in await items]
        assert [each.delta for each in seen] == [each.delta for each in got] == ["hello"]

    async def test_a_refused_model_call_ends_the_run(self, index):
        refused = index.signal("pre_model_stream")
        refused.connect(lambda sender: Block("too dear"), role="guard")
        with pytest.raises(HookBlocked, match="too dear"):
            await told(agent_of(DONE))

    async def test_what_is_seen_of_an_agents_model_can_be_written_down(self, index):
        seen = []
        index.signal("pre_model_stream").connect(
            lambda sender, messages: seen.extend(each.model_dump(mode="json") for each in messages)
        )
        await told(agent_of(DONE))
        assert "go" in json.dumps(seen)
