"""Who listens as AgentScope's hooks do: colours, scopes, streams, names."""

import asyncio
import functools

import pytest

from hookbus import HookError, hookable, report

from . import agentscope_native_parts as parts
from .agentscope_native_parts import noting

Agent = parts.Agent


async def test_agentscope_A13_receivers_of_every_colour_and_shape_run(bus, Agent):
    ran = []

    async def later(tag, agent):
        ran.append(tag)

    class Called:
        async def __call__(self, agent):
            ran.append("object")

    for receiver in (
        lambda agent: ran.append("plain"), functools.partial(later, "partial"), Called(),
        lambda agent: later("lambda", agent),
    ):  # fmt: skip
        bus.signal("pre_reply").connect(receiver)
    await Agent().reply("hi")
    assert ran == ["plain", "partial", "object", "lambda"]


async def test_agentscope_A14_each_item_of_a_stream_and_each_printed_chunk_is_seen_once(bus, Agent):
    class Streaming(Agent):
        @hookable("stream", bus=bus)
        async def stream(self, msg):
            text = ""
            for word in msg.split():
                text = f"{text} {word}".strip()
                await self.print(text, False)
                yield text

    seen = {"item": [], "print": []}
    bus.signal("item_stream").connect(lambda agent, item: seen["item"].append(item), role="observe")
    bus.signal("pre_print").connect(lambda agent, msg: seen["print"].append(msg), role="observe")
    assert [item async for item in Streaming().stream("one two three")] == [
        "one",
        "one two",
        "one two three",
    ]
    assert seen["item"] == seen["print"] == ["one", "one two", "one two three"]


async def test_agentscope_A15_overlapping_calls_on_one_agent_are_each_fully_hooked(bus, Agent):
    seen = []
    bus.signal("pre_acting").connect(lambda agent, tool_call: {"tool_call": f"/sandbox{tool_call}"})
    bus.signal("post_acting").connect(lambda agent, result: seen.append(result), role="observe")
    agent = Agent()
    results = await asyncio.gather(*(agent._acting(f"/p{n}") for n in range(4)))
    assert results == [f"ran /sandbox/p{n}" for n in range(4)] and sorted(seen) == results


async def test_agentscope_A16_instance_receivers_come_and_go_by_name_or_handle(bus, Agent):
    ran, agent, other = [], Agent(), Agent()
    handle = bus.signal("pre_reply").connected_to(noting(ran, "a"), sender=agent, name="a")
    await agent.reply("hi")
    await other.reply("hi")
    handle.disconnect()
    handle.disconnect()
    await agent.reply("hi")
    assert ran == ["a"]
    with pytest.raises(HookError, match="not callable"):
        bus.signal("pre_reply").connect("no function", sender=agent)


async def test_agentscope_A17_class_receivers_run_for_all_instances_and_go_together(bus, Agent):
    ran = []
    bus.signal("pre_reply").connect(noting(ran, "class"), sender=Agent, name="class")
    await asyncio.gather(Agent().reply("hi"), Agent().reply("hi"))
    assert ran == ["class"] * 2
    for receiver in list(bus.signal("pre_reply").receivers_for(Agent)):
        bus.signal("pre_reply").disconnect(receiver, sender=Agent)
    await Agent().reply("hi")
    assert ran == ["class"] * 2


async def test_agentscope_A18_subclasses_inherit_receivers_and_siblings_do_not(bus, Agent):
    class One(Agent):
        pass

    class Two(Agent):
        pass

    ran = []
    bus.signal("pre_reply").connect(noting(ran, "one"), sender=One)
    bus.signal("pre_reply").connect(noting(ran, "all"), sender=Agent)
    await Two().reply("hi")
    assert ran == ["all"]
    await One().reply("hi")
    assert ran == ["all", "one", "all"]


def test_agentscope_A19_a_name_nobody_has_is_found_out(bus, Agent):
    bus.signal("pre_repyl").connect(lambda agent: None)
    assert any(
        "nothing emits pre_repyl" in finding and "pre_reply" in finding
        for finding in report(bus).findings
    )
    with pytest.raises(HookError, match="did you mean 'guard'"):
        bus.signal("pre_reply").connect(lambda agent: None, role="gaurd")


async def test_agentscope_A22_a_plan_tells_its_observers_which_come_and_go_by_name(bus):
    class Notebook:
        def __init__(self):
            self.steps = []

        @hookable("plan_change", bus=bus)
        async def change(self, step):
            self.steps.append(step)
            return list(self.steps)

    shown, notebook = [], Notebook()

    async def show(notebook, result):
        shown.append(result)

    def once_more(notebook):
        handle.disconnect()  # while it is being told: harmless
        raise OSError("the frontend is gone")

    bus.signal("post_plan_change").connect(show, sender=notebook, role="observe")
    handle = bus.signal("post_plan_change").connected_to(once_more, sender=notebook, role="observe")
    await notebook.change("first")
    await notebook.change("second")
    assert shown == [["first"], ["first", "second"]]
