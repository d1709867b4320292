"""AgentScope's tools speak the vocabulary: a guard written for another framework holds here."""

import asyncio

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse

from hookbus import Block, explain

from . import agentscope_settings as parts
from .vocabulary import Words

either = parts.either


def said(text):
    return [TextBlock(type="text", text=text)]


class Model(ChatModelBase):
    """Has mail sent to bob and to eve, then says it is done, and keeps what it was told last."""

    def __init__(self):
        super().__init__("scripted", stream=False)
        self.told = None

    async def __call__(self, messages, *args, **kwargs):
        self.told = [each["content"] for each in messages if each["role"] == "tool"]
        if self.told:
            return ChatResponse(content=said("done"))
        return ChatResponse(
            content=[
                ToolUseBlock(type="tool_use", id=f"to-{to}", name="mail", input={"to": f" {to} "})
                for to in ("bob", "eve")
            ]
        )


def toolkit_of(sent, *, streams=False):
    def mail(to: str) -> ToolResponse:
        sent.append(to)
        return ToolResponse(content=said(f"mail to {to}"))

    async def streaming(to: str):
        sent.append(to)
        yield ToolResponse(content=said("mail"), stream=True, is_last=False)
        yield ToolResponse(content=said(f"mail to {to}"), stream=True)

    toolkit = Toolkit()
    toolkit.register_tool_function(streaming if streams else mail, func_name="mail")
    return toolkit


async def called(toolkit, to="bob", name="mail"):
    use = ToolUseBlock(type="tool_use", id="1", name=name, input={"to": to})
    return [part async for part in await toolkit.call_tool_function(use)]


def text_of(part):
    return part.content[0]["text"]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_guard_in_the_words_of_the_vocabulary_holds_in_a_run(either, bus, streams):
    words, sent, model = Words(bus), [], Model()
    toolkit = toolkit_of(sent, streams=streams)
    agent = ReActAgent(
        "friday", "You send mail.", model, DashScopeChatFormatter(), toolkit=toolkit,
        memory=InMemoryMemory(), print_hint_msg=False,
    )  # fmt: skip
    agent.set_console_output_enabled(False)
    answer = asyncio.run(agent(Msg("user", "go", "user")))
    assert answer.get_text_content() == "done" and sent == ["bob"]
    assert "mail to bob" in str(model.told[0])
    assert "Error: the call was blocked by only_inside: eve is outside" in str(model.told[1])
    assert words.only("sender", "tool") == [(toolkit.tools["mail"],) * 2] * 2
    assert words.only("name", "arguments", "call_id", "kind", "caller") == [
        ("mail", {"to": "bob"}, "to-bob", "function", None),
        ("mail", {"to": "eve"}, "to-eve", "function", None),
    ]


async def test_guards_see_what_a_middleware_made_of_a_call(either, bus):
    words, sent = Words(bus), []
    toolkit = toolkit_of(sent)

    async def to_eve(kwargs, next_handler):
        changed = {**kwargs["tool_call"], "input": {"to": "eve"}}
        async for part in await next_handler(tool_call=changed):
            yield part

    toolkit.register_middleware(to_eve)
    assert "eve is outside" in text_of((await called(toolkit))[-1])
    assert sent == [] and words.only("arguments") == [({"to": "eve"},)]


async def test_a_changed_result_is_all_that_comes_of_a_tool_that_streams(either, bus):
    bus.signal("post_tool_call").connect(lambda tool, result: result.upper(), name="shout")
    parts = await called(toolkit_of([], streams=True))
    assert [text_of(part) for part in parts] == ["MAIL TO BOB"]


async def test_what_nobody_changes_is_given_part_by_part(either, bus):
    results = []
    toolkit = toolkit_of([], streams=True)
    assert len(await called(toolkit)) == 2 and results == []
    bus.signal("post_tool_call").connect(
        lambda tool, result: results.append(result), role="observe", name="keep"
    )
    assert [text_of(part) for part in await called(toolkit)] == ["mail", "mail to bob"]
    assert results == ["mail to bob"]


async def test_a_tool_that_is_not_there_is_told_with_its_toolkit_as_the_sender(
    either, bus
):
    seen, toolkit = [], toolkit_of([])
    bus.signal("pre_tool_call").connect(
        lambda tool, name: seen.append((tool, name)), role="guard", name="look"
    )
    assert "FunctionNotFoundError" in text_of((await called(toolkit, name="fax"))[-1])
    assert seen == [(toolkit, "fax")]


async def test_a_guard_of_one_tool_guards_that_tool_alone(either, bus):
    sent = []
    guarded, other = toolkit_of([]), toolkit_of(sent)
    bus.signal("pre_tool_call").connect(
        lambda tool: Block("not this one"), sender=guarded.tools["mail"], role="guard", name="stop"
    )
    assert "not this one" in text_of((await called(guarded))[-1])
    assert text_of((await called(other))[-1]) == "mail to bob" and sent == ["bob"]


def test_explain_says_who_is_asked_about_the_tools_of_toolkits(either, bus):
    Words(bus)
    rows = explain(Toolkit.call_tool_function)
    assert [row.receiver for row in rows] == ["strip", "tell", "only_inside"]


async def test_an_interrupted_tool_stays_interrupted_when_its_result_is_changed(
    either, bus
):
    bus.signal("post_tool_call").connect(lambda tool, result: "changed", name="change")
    begun, toolkit = asyncio.Event(), Toolkit()

    async def mail(to: str) -> ToolResponse:
        begun.set()
        await asyncio.sleep(60)

    toolkit.register_tool_function(mail)
    task = asyncio.create_task(called(toolkit))
    await begun.wait()
    task.cancel()
    (part,) = await task
    assert text_of(part) == "changed" and part.is_interrupted


async def test_a_tool_that_is_not_there_is_unknown_and_a_structured_answer_is_an_output(
    either, bus
):
    kinds = []

    def hear(sender, name, kind):
        kinds.append((name, kind))

    bus.signal("pre_tool_call").connect(hear, role="observe", name="hear")
    toolkit, agent = Toolkit(), ReActAgent(
        "clerk", "Answer.", Model(), DashScopeChatFormatter(), memory=InMemoryMemory()
    )
    toolkit.register_tool_function(agent.generate_response)
    await called(toolkit, name="fly")
    await called(toolkit, name="generate_response")
    assert kinds == [("fly", "unknown"), ("generate_response", "output")]
