"""Everything AgentScope's hooks can do, as a natural use of hookbus. No AgentScope is needed
here."""

import asyncio
import functools
import inspect

import pytest

from hookbus import (
    Block,
    Drop,
    HookBlocked,
    HookError,
    Replace,
    explain,
    hookable,
    instrument,
    receives,
    report,
)  # fmt: skip
from hookbus.events import Failed, Mutated
from hookbus.testing import record


@pytest.fixture
def Agent(bus):
    class Agent:
        def __init__(self):
            self.bodies, self.printed = [], []

        @hookable("reply", bus=bus)
        async def reply(self, msg, temperature=0.7):
            self.bodies.append((msg, temperature))
            return f"re: {msg}"

        @hookable("print", bus=bus)
        async def print(self, msg, last=True):
            self.printed.append((msg, last))

        @hookable("observe", bus=bus)
        async def observe(self, msg):
            self.bodies.append(msg)

        @hookable("reasoning", bus=bus)
        async def _reasoning(self, tool_choice=None):
            return "thought"

        @hookable("acting", bus=bus)
        async def _acting(self, tool_call):
            return f"ran {tool_call}"

    return Agent


def noting(ran, name):
    return lambda agent, ctx: ran.append(name)


async def test_agentscope_A1_a_decorator_hooks_a_method_and_instrument_one_inherited_or_set_later(
    bus,
):
    class Mixin:
        async def reply(self, msg):
            return msg

    class Late(Mixin):
        pass

    async def plan(self):
        return "plan"

    Late.plan = plan
    instrument(Late, "reply", "plan", bus=bus)
    ran = []
    for hook in ("reply", "plan"):
        bus.signal(f"pre_{hook}").connect(noting(ran, hook), sender=Late)
    await Late().reply("hi")
    await Late().plan()
    await Mixin().reply("hi")
    assert ran == ["reply", "plan"] and type(Late) is type


async def test_agentscope_A2_the_ten_points_are_five_methods_with_a_pre_and_a_post_phase(
    bus, Agent
):
    ran, agent = [], Agent()
    for hook in ("reply", "print", "observe", "reasoning", "acting"):
        for phase in ("pre", "post"):
            bus.signal(f"{phase}_{hook}").connect(noting(ran, f"{phase}_{hook}"))
    for call in (
        agent.reply("x"), agent.print("x"), agent.observe("x"), agent._reasoning(),
        agent._acting("x"),
    ):  # fmt: skip
        await call
    assert ran == [
        f"{phase}_{hook}"
        for hook in ("reply", "print", "observe", "reasoning", "acting")
        for phase in ("pre", "post")
    ]


def test_agentscope_A3_a_hook_has_the_name_it_is_given_and_the_bus_lists_them(bus, Agent):
    assert bus.hook_names() == ["acting", "observe", "print", "reasoning", "reply"]
    assert explain(Agent._reasoning).title.startswith("reasoning of")


async def test_agentscope_A4_a_pre_receiver_returns_a_patch_or_nothing_and_all_else_is_its_failure(
    bus, Agent
):
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg + "!"}, name="patch")
    bus.signal("pre_reply").connect(lambda agent: None, name="nothing")
    bus.signal("pre_reply").connect(lambda agent: False, name="false")
    agent = Agent()
    with record(bus) as fired:
        assert await agent.reply("hi", temperature=0.1) == "re: hi!"
    assert agent.bodies == [("hi!", 0.1)], "a patch leaves the other arguments"
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [("false", "isolated")]


async def test_agentscope_A5_a_post_receiver_replaces_the_result_and_none_on_request(bus, Agent):
    seen = []
    bus.signal("post_reply").connect(lambda agent, result: None, name="unchanged")
    bus.signal("post_reply").connect(
        lambda agent, result, ctx: seen.append((dict(ctx.kwargs), result)), name="look"
    )
    bus.signal("pre_reply").connect(lambda agent: {"msg": "final"})
    last = bus.signal("post_reply").connected_to(lambda agent, result: 42, name="42")
    assert await Agent().reply("hi") == 42
    last.disconnect()
    bus.signal("post_reply").connect(lambda agent: Replace(None), name="none")
    assert await Agent().reply("hi") is None
    assert seen == [({"msg": "final", "temperature": 0.7}, "re: final")] * 2


async def test_agentscope_A6_nothing_is_copied_and_a_snapshot_is_there_on_request(bus, Agent):
    given, seen = ["hi"], []
    bus.signal("pre_observe").connect(
        lambda agent, msg, ctx: seen.extend([msg, ctx.snapshot().kwargs["msg"]]), role="observe"
    )
    agent = Agent()
    await agent.observe(given)
    assert seen[0] is given and agent.bodies[0] is given
    assert seen[1] == given and seen[1] is not given


async def test_agentscope_A7_instance_receivers_run_before_class_receivers_in_both_phases(
    bus, Agent
):
    ran, agent = [], Agent()
    for phase in ("pre", "post"):
        bus.signal(f"{phase}_reply").connect(noting(ran, f"{phase} class"), sender=Agent)
        bus.signal(f"{phase}_reply").connect(noting(ran, f"{phase} one"), sender=agent)
        bus.signal(f"{phase}_reply").connect(noting(ran, f"{phase} two"), sender=agent)
    await agent.reply("hi")
    assert ran == [f"{phase} {who}" for phase in ("pre", "post") for who in ("one", "two", "class")]


async def test_agentscope_A7_connecting_again_keeps_the_place(bus, Agent):
    ran = []
    first = noting(ran, "first")
    bus.signal("pre_reply").connect(first)
    bus.signal("pre_reply").connect(noting(ran, "second"))
    bus.signal("pre_reply").connect(first, name="first")
    await Agent().reply("hi")
    assert ran == ["first", "second"]


async def test_agentscope_A8_who_runs_is_settled_when_the_method_is_called(bus, Agent):
    ran = []
    removed = bus.signal("pre_reply").connected_to(noting(ran, "removed"), priority=-1)

    def meanwhile(agent):
        removed.disconnect()
        bus.signal("pre_reply").connect(noting(ran, "late pre"), name="late pre")
        bus.signal("post_reply").connect(noting(ran, "late post"), name="late post")

    bus.signal("pre_reply").connected_to(meanwhile, once=True)
    await Agent().reply("hi")
    assert ran == ["removed"]
    await Agent().reply("hi")
    assert ran == ["removed", "late pre", "late post"]


async def test_agentscope_A9_arguments_come_by_name_with_defaults_and_a_wrong_call_is_a_type_error(
    bus,
):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, first, *args, flag=False, **kwargs):
            return first, args, flag, kwargs

    seen = []
    bus.signal("pre_reply").connect(
        lambda agent, ctx: seen.append(dict(ctx.kwargs)), role="observe"
    )
    await Agent().reply("x", 1, 2, more=3)
    assert seen == [{"first": "x", "args": (1, 2), "flag": False, "kwargs": {"more": 3}}]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        Agent().reply()


@pytest.mark.parametrize("receivers", [0, 1, 3])
async def test_agentscope_A10_the_body_gets_what_a_direct_call_would_give_it(bus, receivers):
    class Agent:
        def sync(self, a, /, b, *c, d=4, **e):
            return a, b, c, d, e

        async def later(self, a, /, b, *c, d=4, **e):
            return a, b, c, d, e

    direct = Agent().sync(1, 2, 3, e=5)
    instrument(Agent, "sync", "later", bus=bus)
    for number in range(receivers):
        for hook in ("sync", "later"):
            bus.signal(f"pre_{hook}").connect(lambda agent: None, name=f"r{number}")
    assert Agent().sync(1, 2, 3, e=5) == direct == await Agent().later(1, 2, 3, e=5)


async def test_agentscope_A11_super_does_not_fire_again_and_nothing_is_marked_on_the_object(
    bus, Agent
):
    class Child(Agent):
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            return await super().reply(f"{msg}, child"), set(vars(self))

    ran, child = [], Child()
    bus.signal("pre_reply").connect(noting(ran, "pre"))
    assert await child.reply("hi") == ("re: hi, child", {"bodies", "printed"})
    assert ran == ["pre"]


async def test_agentscope_A12_the_bodys_exception_reaches_error_and_finally_and_the_caller(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            raise LookupError("gone")

    seen = []
    bus.signal("post_reply").connect(noting(seen, "post"))
    bus.signal("error_reply").connect(
        lambda agent, error: seen.append(("error", str(error))), role="observe"
    )
    bus.signal("finally_reply").connect(lambda agent, ctx: seen.append(("finally", ctx.outcome)))
    with pytest.raises(LookupError, match="gone"):
        await Agent().reply()
    assert seen == [("error", "gone"), ("finally", "raised")]


async def test_agentscope_A12_a_hook_that_must_stop_the_call_by_raising_says_so(bus, Agent):
    def strict(agent):
        raise PermissionError("no")

    bus.signal("pre_reply").connect(strict, on_error="raise")
    with pytest.raises(HookError) as raised:
        await Agent().reply("hi")
    assert isinstance(raised.value.__cause__, PermissionError)


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
        "nobody emits pre_repyl" in finding and "pre_reply" in finding
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


# -- what came with AgentScope 2 -------------------------------------------------------------------


async def test_agentscope_V1_a_middleware_class_has_the_methods_it_needs_and_no_others(bus, Agent):
    class Middleware:
        @receives("around_reply")
        async def on_reply(self, agent, call_next):
            return f"<{await call_next()}>"

        @receives("pre_acting", role="guard")
        def on_check_permission(self, agent, tool_call):
            return Block("not allowed") if tool_call == "rm" else None

    unplug = bus.plug(Middleware())
    agent = Agent()
    assert await agent.reply("hi") == "<re: hi>"
    with pytest.raises(HookBlocked, match="not allowed"):
        await agent._acting("rm")
    unplug()
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
