"""The order, the arguments and the exceptions that AgentScope's users rely on, in every state."""

import asyncio

import pytest
from agentscope.agent import AgentBase

from . import agentscope_states as parts
from .agentscope_states import Existing, noting, run

state = parts.state
agent = parts.agent


def test_agentscope_P7_instance_hooks_then_class_hooks_in_order_of_registration_in_both_phases(
    agent,
):
    ran = []
    for phase in ("pre", "post"):
        AgentBase.register_class_hook(f"{phase}_reply", "c1", noting(ran, f"{phase} c1"))
        agent.register_instance_hook(f"{phase}_reply", "i1", noting(ran, f"{phase} i1"))
        AgentBase.register_class_hook(f"{phase}_reply", "c2", noting(ran, f"{phase} c2"))
        agent.register_instance_hook(f"{phase}_reply", "i2", noting(ran, f"{phase} i2"))
    run(agent.reply("hi"))
    assert ran == [
        f"{phase} {name}" for phase in ("pre", "post") for name in ("i1", "i2", "c1", "c2")
    ]


def test_agentscope_P7_overwriting_a_name_keeps_its_place_and_registering_it_anew_does_not(agent):
    ran = []
    for name in ("a", "b", "c"):
        agent.register_instance_hook("pre_reply", name, noting(ran, name))
    agent.register_instance_hook("pre_reply", "a", noting(ran, "a again"))
    run(agent.reply("hi"))
    agent.remove_instance_hook("pre_reply", "b")
    agent.register_instance_hook("pre_reply", "b", noting(ran, "b anew"))
    run(agent.reply("hi"))
    assert ran == ["a again", "b", "c", "a again", "c", "b anew"]


def test_agentscope_P7_dicts_edited_directly_are_followed(agent):
    ran = []
    agent._instance_pre_reply_hooks["a"] = noting(ran, "a")
    agent._instance_pre_reply_hooks["b"] = noting(ran, "b")
    AgentBase._class_pre_reply_hooks["c"] = noting(ran, "c")
    run(agent.reply("hi"))
    agent._instance_pre_reply_hooks.move_to_end("a")
    del AgentBase._class_pre_reply_hooks["c"]
    run(agent.reply("hi"))
    agent._instance_pre_reply_hooks.clear()
    run(agent.reply("hi"))
    assert ran == ["a", "b", "c", "b", "a"]


@pytest.mark.parametrize("while_it_runs", ["a pre-hook", "the body"])
@pytest.mark.parametrize("others", [(), ("instance",), ("class",), ("instance", "class")])
def test_agentscope_P8_post_hooks_registered_during_a_call_run_in_it_in_their_place(
    while_it_runs, others
):
    ran = []

    def register(self):
        self.register_instance_hook("post_reply", "late", noting(ran, "late instance"))
        AgentBase.register_class_hook("post_reply", "late", noting(ran, "late class"))

    class Agent(AgentBase):
        async def reply(self, msg, temperature=0.7):
            if while_it_runs == "the body":
                register(self)
            return msg

    agent = Agent()
    if "instance" in others:
        agent.register_instance_hook("post_reply", "early", noting(ran, "instance"))
    if "class" in others:
        AgentBase.register_class_hook("post_reply", "early", noting(ran, "class"))
    if while_it_runs == "a pre-hook":
        agent.register_instance_hook("pre_reply", "registers", lambda self, kwargs: register(self))
    run(agent.reply("hi"))
    early = {name: [name] if name in others else [] for name in ("instance", "class")}
    assert ran == [*early["instance"], "late instance", *early["class"], "late class"]


def test_agentscope_P8_a_hook_removed_in_a_phase_still_runs_in_it_and_one_removed_by_the_body_not():
    ran = []

    class Agent(AgentBase):
        async def reply(self):
            self.remove_instance_hook("post_reply", "gone")

    agent = Agent()
    agent.register_instance_hook(
        "pre_reply", "remover", lambda self, kwargs: self.clear_instance_hooks("pre_reply")
    )
    agent.register_instance_hook("pre_reply", "next", noting(ran, "next"))
    agent.register_instance_hook("post_reply", "gone", noting(ran, "gone"))
    agent.register_instance_hook(
        "post_reply",
        "remover",
        lambda self, kwargs, output: self.clear_instance_hooks("post_reply"),
    )
    agent.register_instance_hook("post_reply", "last", noting(ran, "last"))
    run(agent.reply())
    assert ran == ["next", "last"]


def test_agentscope_P8_what_a_late_post_hook_returns_is_the_output():
    class Agent(AgentBase):
        async def reply(self, msg):
            self.register_instance_hook(
                "post_reply", "late", lambda self, kwargs, output: (kwargs, output)
            )
            return "body"

    assert run(Agent().reply("hi")) == ({"msg": "hi"}, "body")


# -- P9: normalisation -----------------------------------------------------------------------------


def test_agentscope_P9_the_dict_has_every_parameter_but_self_with_defaults_and_stars_nested():
    class Agent(AgentBase):
        async def reply(self, first, *args, flag=False, **kwargs):
            return first, args, flag, kwargs

    agent = Agent()
    seen = []
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: seen.append(kwargs))
    assert run(agent.reply("x")) == ("x", (), False, {})
    assert run(agent.reply(first="x", more=3)) == ("x", (), False, {"more": 3})
    assert seen == [
        {"first": "x", "args": (), "flag": False, "kwargs": {}},
        {"first": "x", "args": (), "flag": False, "kwargs": {"more": 3}},
    ]  # fmt: skip


def test_agentscope_P9_stars_come_back_spread():
    class Agent(AgentBase):
        async def reply(self, *args, **kwargs):
            return args, kwargs

    agent = Agent()
    agent.register_instance_hook(
        "pre_reply",
        "a",
        lambda self, kwargs: {"args": ["other", *kwargs["args"]], "kwargs": {"k": 1}},
    )
    assert run(agent.reply("x", y=2)) == (("other", "x"), {"k": 1})
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: {"msg": "named"})
    assert run(agent.reply("x", y=2)) == ((), {"msg": "named"})


def test_agentscope_P9_a_call_that_does_not_bind_says_what_was_expected_and_provided(agent):
    with pytest.raises(TypeError) as refused:
        run(agent.reply("hi", 1, 2, colour="red"))
    told = str(refused.value)
    assert told.startswith("Failed to bind parameters for function 'reply': ")
    assert "Expected parameters: ['self', 'msg', 'temperature']" in told
    assert "Provided 3 positional args and kwargs: ['colour']" in told
    assert agent.bodies == []


# -- P10: exceptions -------------------------------------------------------------------------------


class Mine(Exception):
    pass


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_agentscope_P10_an_exception_of_a_hook_goes_out_unchanged_and_later_hooks_do_not_run(
    agent, phase
):
    error, ran = Mine("the hook's own"), []

    def raises(self, kwargs, *output):
        raise error

    agent.register_instance_hook(f"{phase}_reply", "a", raises)
    agent.register_instance_hook(f"{phase}_reply", "b", noting(ran, "b"))
    AgentBase.register_class_hook("post_reply", "c", noting(ran, "c"))
    with pytest.raises(Mine) as raised:
        run(agent.reply("hi"))
    assert raised.value is error
    assert (
        error.__cause__ is None
        and error.__context__ is None
        and not getattr(error, "__notes__", [])
    )
    assert ran == []
    assert len(agent.bodies) == (phase == "post")


def test_agentscope_P10_post_hooks_do_not_run_when_the_body_raises():
    error, ran = Mine("the body's own"), []

    class Agent(AgentBase):
        async def reply(self):
            raise error

    agent = Agent()
    agent.register_instance_hook("post_reply", "a", noting(ran, "a"))
    with pytest.raises(Mine) as raised:
        run(agent.reply())
    assert raised.value is error and ran == []


def test_agentscope_P10_an_interrupted_reply_is_handled_without_hooks():
    ran = []

    class Slow(Existing):
        async def reply(self, msg):
            self.started.set()
            await asyncio.sleep(30)

    slow = Slow()
    slow.register_instance_hook("post_reply", "a", noting(ran, "post"))

    async def interrupted():
        slow.started = asyncio.Event()
        task = asyncio.create_task(slow("hi"))
        await slow.started.wait()
        await slow.interrupt()
        return await task

    assert run(interrupted()).content == "interrupted"
    assert ran == []
