"""What Semantic Kernel hands over, streams and keeps, and the filter of those who do not patch."""

from __future__ import annotations

from typing import Any

import pytest
from semantic_kernel import Kernel
from semantic_kernel.agents import HandoffOrchestration, OrchestrationHandoffs
from semantic_kernel.agents.runtime import InProcessRuntime
from semantic_kernel.contents import TextContent
from semantic_kernel.functions import KernelFunctionFromMethod, KernelPlugin, kernel_function

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import semantic_kernel

from .test_semantic_kernel_contract import agent_of, asked, bank, scripted, told
from .tool_contract import ANN, EVE, SECRET, Tool


@pytest.fixture
def bus():
    bus = Bus(values=True)
    undo = semantic_kernel.install(bus)
    yield bus
    undo()


def refuse(bus, **when):
    bus.signal("pre_tool_call").connect(
        lambda sender: Block("not today"), role="guard", name="guard", when=when
    )


TO_SALES = asked([{}], "Handoff-transfer_to_sales")


async def handed_over(*script: Any) -> Any:
    """Have a clerk who may hand over to sales; return what came of it and who read what."""
    clerk, sales = (
        scripted(*script),
        scripted(asked([{"task_summary": "sold"}], "Handoff-complete_task")),
    )
    members = [agent_of(clerk), agent_of(sales, name="sales")]
    handoffs = OrchestrationHandoffs().add("clerk", "sales", "Sells.")
    runtime = InProcessRuntime()
    runtime.start()
    try:
        result = await HandoffOrchestration(members=members, handoffs=handoffs).invoke(
            "go", runtime
        )
        return str(await result.get(20)), clerk, sales
    finally:
        await runtime.stop()


class TestHandOffs:
    async def test_are_tool_calls_of_that_kind_and_the_end_is_an_output(self, bus):
        heard = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, kind: heard.append((name, kind)), role="observe"
        )
        result, _, sales = await handed_over(TO_SALES)
        assert "sold" in result and sales.told != []
        assert heard == [("transfer_to_sales", "handoff"), ("complete_task", "output")]

    async def test_a_refused_one_does_not_happen_and_the_model_reads_why_and_goes_on(self, bus):
        refuse(bus, name="transfer_to_sales")
        _, clerk, sales = await handed_over(TO_SALES)
        assert sales.told == [] and clerk.script == []
        assert told(clerk).answers == ["Error: the call was blocked by guard: not today"]

    async def test_a_refused_end_is_none(self, bus):
        refuse(bus, name="complete_task")
        result, clerk, _ = await handed_over(
            asked([{"task_summary": "done"}], "Handoff-complete_task")
        )
        assert "not today" in told(clerk).answers[0] and "summary: done" not in result


class TestResults:
    async def test_parts_of_a_stream_come_one_by_one_when_nobody_changes_them(self, bus):
        function = streamed()
        parts = [part async for part in Kernel().invoke_stream(function)]
        assert parts == ["the pin is ", SECRET]

    async def test_changed_parts_and_a_text_for_all_are_streamed(self, bus):
        bus.signal("post_tool_call").connect(lambda sender, result: result[:1])
        assert [part async for part in Kernel().invoke_stream(streamed())] == ["the pin is "]
        bus.signal("post_tool_call").connect(lambda sender, result: "no more", priority=-1)
        assert [part async for part in Kernel().invoke_stream(streamed())] == ["no more"]

    async def test_a_changed_prompts_answer_is_a_message_again(self, bus):
        kernel = Kernel()
        kernel.add_service(scripted())
        bus.signal("post_tool_call").connect(lambda sender, result: f"{result} and dusted")
        answer = await kernel.invoke_prompt("go")
        assert str(answer) == "done and dusted" and answer.value[0].role.value == "assistant"
        assert "messages" not in answer.metadata
        parts = [part async for part in kernel.invoke_prompt_stream("go")]
        assert [str(part[0]) for part in parts] == ["done and dusted"]

    async def test_contents_are_shown_as_text_and_are_contents_again(self, bus):
        seen = []

        @bus.signal("post_tool_call").connect_via()
        def redact(sender, result):
            seen.append(result)
            return result.replace(SECRET, "****")

        find = kernel_function(name="find")(
            lambda: [TextContent(text=SECRET), TextContent(text="b")]
        )
        answer = await KernelFunctionFromMethod(find).invoke(Kernel())
        assert seen == [f"{SECRET}\nb"] and [part.text for part in answer.value] == ["****\nb"]

    async def test_what_a_tool_calls_is_refused_to_the_tool_not_told_as_data(self, bus):
        refuse(bus, name="pay")
        paid, got = Tool(), []

        @kernel_function(name="outer")
        async def outer() -> str:
            got.append(await agent.kernel.invoke(plugin_name="bank", function_name="pay", **ANN))
            return "paid"

        service = scripted(asked([{}], "own-outer"))
        agent = agent_of(service, KernelPlugin("own", functions=[outer]), bank(paid))
        await agent.get_response("go")
        assert paid.paid == got == [] and "not today" in told(service).answers[0]

    async def test_a_call_of_a_model_has_its_number_and_a_programs_none(self, bus):
        numbers = []
        bus.signal("pre_tool_call").connect(
            lambda sender, call_id: numbers.append(call_id), role="observe"
        )
        await agent_of(scripted(asked([ANN])), bank(Tool())).get_response("go")
        await bank(Tool())["pay"](Kernel(), **ANN)
        assert numbers == ["0", None]


def streamed() -> KernelFunctionFromMethod:
    @kernel_function(name="find")
    async def find() -> Any:
        yield "the pin is "
        yield SECRET

    return KernelFunctionFromMethod(find, stream_method=find)


class TestModels:
    async def test_every_request_is_heard_and_can_be_refused(self, bus):
        asks = []
        bus.signal("pre_model_call").connect(
            lambda sender, messages: asks.append((type(sender).__name__, len(messages.messages))),
            role="observe",
        )
        await agent_of(scripted(asked([ANN])), bank(Tool())).get_response("go")
        assert [each[0] for each in asks] == ["Script", "Script"]
        bus.signal("pre_model_call").connect(lambda sender: Block("no model"), role="guard")
        with pytest.raises(HookBlocked, match="no model"):
            await agent_of(scripted(), bank(Tool())).get_response("go")

    async def test_items_of_a_stream_are_heard(self, bus):
        items = []
        bus.signal("item_model_stream").connect(
            lambda sender, item: items.append(str(item[0])), role="observe"
        )
        _ = [
            part
            async for part in agent_of(scripted(asked([ANN])), bank(Tool())).invoke_stream("go")
        ]
        assert items == ["", "done"]


class TestGuarded:
    """The filter, without `install`."""

    @pytest.fixture
    def guarded(self):
        guarded = semantic_kernel.Guarded(Bus())
        yield guarded
        for undo in guarded._gate.patches._undo:  # what a process keeps, other tests look for
            undo()

    async def run(self, guarded, paid, *calls):
        service = scripted(asked(calls))
        agent = agent_of(service, bank(paid))
        agent.kernel.add_filter("function_invocation", guarded)
        await agent.get_response("go")
        return told(service)

    async def test_refuses_and_its_reason_is_read(self, guarded):
        paid = Tool()

        @guarded.bus.signal("pre_tool_call").connect_via(role="guard")
        def not_to_eve(sender, arguments):
            return Block("eve is not allowed") if arguments["to"] == "eve" else None

        answers = (await self.run(guarded, paid, ANN, EVE)).answers
        assert paid.paid == [(1, "ann")] and "eve is not allowed" in answers[1]

    async def test_changes_arguments_and_results(self, guarded):
        bus, paid = guarded.bus, Tool()
        bus.signal("pre_tool_call").connect(lambda sender: {"arguments": {**ANN, "amount": 7}})
        bus.signal("post_tool_call").connect(lambda sender, result: result.replace(SECRET, "****"))
        found = await self.run(guarded, paid, ANN)
        assert paid.paid == [(7, "ann")] and SECRET not in found.everything

    async def test_withholds_a_result_that_was_there(self, guarded):
        guarded.bus.signal("post_tool_call").connect(lambda sender: Block("a pin"), role="guard")
        found = await self.run(guarded, Tool(), ANN)
        assert "a pin" in found.answers[0] and SECRET not in found.everything
