"""Everything AgentScope's hooks can do, as a natural use of hookbus. No AgentScope is needed
here."""

import pytest

from hookbus import HookError, Replace, explain, hookable, instrument
from hookbus.events import Failed
from hookbus.testing import record

from . import agentscope_native_parts as parts
from .agentscope_native_parts import noting

Agent = parts.Agent


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
