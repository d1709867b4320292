"""Bub's tools speak the vocabulary: a guard written for another framework holds here."""

import asyncio
from types import SimpleNamespace

import pytest
from bub.builtin.tools import run_subagent
from bub.tools import Tool, ToolContext, ToolExecutor

from hookbus import Ask, Block, Bus
from hookbus.adapters import bub
from hookbus.approvals import Approved

from .vocabulary import Words


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def bus(request):
    bus = Bus()
    uninstall = bub.install(bus, strict=request.param)
    yield bus
    uninstall()


def mailing(sent):
    async def mail(to):
        await asyncio.sleep(0)
        sent.append(to)
        return f"mail to {to}"

    return Tool(name="mail", handler=mail)


async def test_a_guard_in_the_words_of_the_vocabulary_holds(bus):
    words, sent, agent = Words(bus), [], object()
    tool, context = mailing(sent), ToolContext(tape=None, state={"_runtime_agent": agent})
    done = await ToolExecutor().execute_async(
        [(tool, {"to": " bob "}), (tool, {"to": " eve "})],
        context=context, call_ids=["call_0", "call_1"],
    )  # fmt: skip
    assert sent == ["bob"] and done.tool_results[0] == "mail to bob"
    assert "blocked by only_inside: eve is outside" in done.error.message
    assert words.only("sender", "tool", "caller", "kind") == [(tool, tool, agent, "function")] * 2
    assert words.only("name", "arguments", "call_id") == [
        ("mail", {"to": "bob"}, "call_0"),
        ("mail", {"to": "eve"}, "call_1"),
    ]


async def test_a_call_that_is_asked_about_runs_after_a_yes(bus):
    asked, sent = [], []
    bus.signal("pre_tool_call").connect(lambda tool: Ask("may it?"), role="guard", weak=False)
    bus.approver(lambda request: asked.append(request.arguments) or Approved("ann"))
    done = await ToolExecutor().execute_async([(mailing(sent), {"to": "bob"})])
    assert done.tool_results == ["mail to bob"] and sent == ["bob"]
    assert asked == [{"name": "mail", "arguments": {"to": "bob"}, "kind": "function"}]


async def test_a_modifier_puts_no_other_tool_in_the_place_of_the_guarded_one(bus):
    sent, others = [], []
    bus.signal("pre_tool_call").connect(lambda tool: {"tool": mailing(others)}, weak=False)
    await ToolExecutor().execute_async([(mailing(sent), {"to": "bob"})])
    assert (sent, others) == (["bob"], [])


async def test_a_call_without_a_number_inside_of_one_with_a_number_has_none(bus):
    words, sent, inner = Words(bus), [], ToolExecutor(render=False)

    async def forward(to):
        return (await inner.execute_async([(mailing(sent), {"to": to})])).tool_results[0]

    outer = Tool(name="forward", handler=forward)
    done = await ToolExecutor().execute_async([(outer, {"to": "bob"})], call_ids=["call_0"])
    assert done.tool_results == ["mail to bob"] and sent == ["bob"]
    assert words.only("name", "call_id", "caller") == [
        ("forward", "call_0", None),
        ("mail", None, None),
    ]


async def test_a_guard_of_one_tool_guards_that_tool_alone(bus):
    sent = []
    guarded, other = mailing(sent), mailing(sent)
    bus.signal("pre_tool_call").connect(
        lambda tool: Block("not this one"), sender=guarded, role="guard", name="stop"
    )
    done = await ToolExecutor().execute_async([(guarded, {"to": "a"}), (other, {"to": "b"})])
    assert "not this one" in done.error.message and sent == ["b"]


async def test_its_own_subagent_is_of_the_kind_agent(bus):
    kinds = []
    bus.signal("pre_tool_call").connect(
        lambda tool, name, kind: kinds.append((name, kind)) or Block("seen"),
        role="guard", name="kinds",
    )  # fmt: skip
    named = SimpleNamespace(prompt="sum up")
    await ToolExecutor().execute_async([(run_subagent, {"param": named})])
    assert kinds == [("subagent", "agent")]
