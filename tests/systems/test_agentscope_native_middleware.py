"""AgentScope's middleware, of tools and of its second version, as a natural use of hookbus."""

import asyncio
import inspect

import pytest

from hookbus import (
    Block,
    Drop,
    HookBlocked,
    Replace,
    explain,
    hookable,
    receives,
)  # fmt: skip
from hookbus.events import Failed, Mutated
from hookbus.testing import record

from . import agentscope_native_parts as parts
from .agentscope_native_parts import noting

Agent = parts.Agent


def make_toolkit(bus):
    class Toolkit:
        ran = []

        @hookable("tool", bus=bus)
        async def call(self, tool_name, arguments):
            self.ran.append((tool_name, arguments))
            for part in ("one", "two"):
                yield f"{tool_name} {part}"

    return Toolkit()


async def test_agentscope_A23_middleware_around_a_streaming_tool_edits_chunks_skips_and_retries(
    bus,
):
    toolkit = make_toolkit(bus)

    async def outer(toolkit, call_next):
        async for chunk in call_next():
            yield f"[{chunk}]"

    async def inner(toolkit, tool_name, call_next):
        if tool_name == "forbidden":
            yield "unauthorized"
            return
        async for chunk in call_next(arguments="changed"):
            yield chunk.upper()

    bus.signal("around_tool").connect(outer)
    removable = bus.signal("around_tool").connected_to(inner)
    assert [chunk async for chunk in toolkit.call("search", "x")] == [
        "[SEARCH ONE]",
        "[SEARCH TWO]",
    ]
    assert [chunk async for chunk in toolkit.call("forbidden", "x")] == ["[unauthorized]"]
    removable.disconnect()
    assert [chunk async for chunk in toolkit.call("search", "x")] == [
        "[search one]",
        "[search two]",
    ]
    assert toolkit.ran == [("search", "changed"), ("search", "x")]


async def test_agentscope_A24_the_result_of_one_tool_is_rewritten_before_anyone_stores_it(bus):
    memory = []

    class Toolkit:
        @hookable("tool", bus=bus)
        async def call(self, tool_name):
            return f"{tool_name}: secret"

    bus.signal("post_tool").connect(
        lambda kit, result: result.replace("secret", "***"), when={"tool_name": "read*"}
    )
    toolkit = Toolkit()
    for name in ("read_file", "write_file"):
        memory.append(await toolkit.call(name))
    assert memory == ["read_file: ***", "write_file: secret"]


async def test_agentscope_A25_what_is_missing_there_is_here(bus, Agent):
    """A handle, a decorator, once, a filter, a deadline, isolation, a short-circuit, a list, a
    context, a scope for one block."""
    ran, agent = [], Agent()

    @bus.signal("pre_reply").connect_via(Agent, once=True)
    def first_only(agent, ctx):
        ran.append("once")

    bus.signal("pre_reply").connect(
        lambda agent, ctx: ran.append("filter"), when=lambda msg: msg == "match", name="filter"
    )

    @bus.signal("post_reply").connect_via(timeout=0.05, role="observe")
    async def hangs(agent):
        await asyncio.sleep(30)

    @bus.signal("pre_reply").connect_via()
    def short_circuit(agent, msg):
        return Replace("cached") if msg == "known" else None

    with record(bus) as fired:
        assert await agent.reply("match") == "re: match"
        assert await agent.reply("known") == "cached"
    assert ran == ["once", "filter"] and agent.bodies == [("match", 0.7)]
    assert {(type(event.exception).__name__, event.action) for event in fired.of(Failed)} == {
        ("TimeoutError", "isolated")
    }
    with bus.signal("pre_reply").connected_to(lambda agent: Replace("for this block"), priority=1):
        assert await agent.reply("x") == "for this block"
    assert [row.receiver.rsplit(".", 1)[-1] for row in explain(agent.reply)] == [
        "filter",
        "short_circuit",
        "hangs",
    ]


async def test_agentscope_V1_a_middleware_class_has_the_methods_it_needs_and_no_others(bus, Agent):
    class Middleware:
        @receives("around_reply")
        async def on_reply(self, agent, call_next):
            return f"<{await call_next()}>"

        @receives("pre_acting", role="guard")
        def on_check_permission(self, agent, tool_call):
            return Block("not allowed") if tool_call == "rm" else None

    unregister = bus.register(Middleware())
    agent = Agent()
    assert await agent.reply("hi") == "<re: hi>"
    with pytest.raises(HookBlocked, match="not allowed"):
        await agent._acting("rm")
    unregister()
    assert await agent.reply("hi") == "re: hi"


async def test_agentscope_V2_the_first_around_is_the_outermost_and_priority_changes_that(
    bus, Agent
):
    def layer(name):
        async def around(agent, call_next):
            return f"{name}({await call_next()})"

        return around

    bus.signal("around_reply").connect(layer("a"))
    bus.signal("around_reply").connect(layer("b"))
    top = bus.signal("around_reply").connected_to(layer("top"), priority=5)
    assert await Agent().reply("x") == "top(a(b(re: x)))"
    top.disconnect()
    assert await Agent().reply("x") == "a(b(re: x))"


async def test_agentscope_V3_v01_the_onion_keeps_every_outer_edit(bus, Agent):
    bus.signal("around_reply").connect(
        lambda agent, call_next: call_next(msg="edited"), name="outer"
    )
    bus.signal("around_reply").connect(lambda agent, call_next: call_next(), name="inner")
    agent = Agent()
    assert await agent.reply("original", temperature=0.1) == "re: edited"
    assert agent.bodies == [("edited", 0.1)]


async def test_agentscope_V4_a_guard_cannot_edit_what_the_tool_gets(bus, Agent):
    def sly(agent, ctx):
        ctx.kwargs["tool_call"] = "harmless"

    bus.signal("pre_acting").connect(sly, role="guard")
    with record(bus) as fired, pytest.raises(HookBlocked):
        await Agent()._acting("rm")
    assert [event.action for event in fired.of(Failed)] == ["blocked"] and fired.of(Mutated) == []


async def test_agentscope_V5_state_belongs_to_the_call_and_not_to_the_agent(bus, Agent):
    mixed = []

    async def before(agent, msg, ctx):
        ctx.state["msg"] = msg
        await asyncio.sleep(0)

    def after(agent, msg, ctx):
        mixed.append(ctx.state["msg"] == msg)

    bus.signal("pre_reply").connect(before)
    bus.signal("post_reply").connect(after)
    agent = Agent()
    await asyncio.gather(*(agent.reply(n) for n in range(10)))
    assert mixed == [True] * 10


async def test_agentscope_V6_a_stream_may_lose_items_without_a_loop_that_is_busy(bus):
    toolkit = make_toolkit(bus)
    bus.signal("item_tool").connect(lambda kit, item: Drop() if item.endswith("one") else None)
    assert [chunk async for chunk in toolkit.call("search", "x")] == ["search two"]


async def test_agentscope_V7_what_two_lost_is_here_next_to_the_middleware(bus, Agent):
    ran, agent = [], Agent()
    bus.signal("around_reply").connect(lambda agent, call_next: call_next())
    bus.signal("pre_reply").connect(noting(ran, "instance, at run time"), sender=agent)
    bus.signal("post_observe").connect(noting(ran, "class, on observe"), sender=Agent)
    bus.signal("pre_print").connect(noting(ran, "everywhere, on print"))
    await agent.reply("x")
    await agent.observe("x")
    await agent.print("x")
    assert ran == ["instance, at run time", "class, on observe", "everywhere, on print"]
    assert inspect.iscoroutinefunction(Agent.reply)
