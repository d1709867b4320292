"""With `install(strict=True)`: what a verdict does in AgentScope, and what is left behind."""

import gc
import inspect
import weakref

import pytest
from agentscope.agent import AgentBase
from agentscope.message import Msg

from hookbus import Block, HookBlocked, Replace, explain
from hookbus.adapters import agentscope
from hookbus.events import Mutated
from hookbus.testing import record

from . import agentscope_settings as parts
from .agentscope_settings import Agent, later_none, react_agent

strict = parts.strict
either = parts.either


# -- verdicts --------------------------------------------------------------------------------------


async def test_agentscope_d18_a_hook_may_block_or_replace(strict):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: Block("not today"))
    with pytest.raises(HookBlocked, match="reply was blocked by a: not today"):
        await agent.reply("hi")
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: Replace("cached"))
    assert await agent.reply("hi") == "cached"
    assert agent.bodies == []


async def test_agentscope_d18_a_guard_blocks_in_either_setting(either, bus):
    bus.signal("pre_reply").connect(
        lambda agent, msg: Block("no") if msg == "bad" else None, role="guard", name="policy"
    )
    agent = Agent()
    with pytest.raises(HookBlocked, match="reply was blocked by policy: no"):
        await agent.reply("bad")
    assert await agent.reply("good") == "re: good" and agent.bodies == ["good"]


async def test_agentscope_d19_neither_an_agent_nor_the_owner_of_a_weak_receiver_is_kept_alive(
    either, bus
):
    ran = []

    class Plugin:
        def look(self, agent):
            ran.append("look")

    plugin, agent = Plugin(), Agent()
    bus.signal("pre_reply").connect(plugin.look, sender=AgentBase, weak=True)
    agent.register_instance_hook(
        "pre_reply", "own", lambda self, kwargs, me=agent: ran.append("own")
    )
    await agent.reply("hi")
    gone = weakref.ref(plugin), weakref.ref(agent)
    del plugin, agent
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    await Agent().reply("hi")
    assert ran == ["own", "look"]


async def test_a_method_borrowed_from_another_class_is_hooked_for_both(either):
    class Borrower(AgentBase):
        reply, bodies = Agent.reply, []

    seen = []
    Borrower.register_class_hook("pre_reply", "a", lambda self, kwargs: seen.append(kwargs["msg"]))
    await Borrower().reply("hi")
    await Agent().reply("ho")
    Borrower.clear_class_hooks()
    assert seen == (["hi"] if either else ["hi", "ho"])


async def test_agentscope_d19_classes_made_while_installed_are_collected(either):
    class Local(Agent):
        async def reply(self, msg):
            return await super().reply(msg)

    Local.register_class_hook("pre_reply", "a", lambda self, kwargs: None)
    await Local().reply("hi")
    Local.clear_class_hooks()
    reference = weakref.ref(Local)
    del Local
    gc.collect()
    assert reference() is None


async def test_agentscope_d20_without_hooks_a_reply_runs_the_very_code_of_the_method(strict):
    frames = []

    class Watched(AgentBase):
        async def reply(self):
            frames.extend(frame.filename for frame in inspect.stack()[1:])

    await Watched().reply()
    package = inspect.getfile(agentscope).rsplit("/adapters", 1)[0]
    assert not [
        name
        for name in frames
        if name.startswith((package, "<hookbus")) or name.endswith("_agent_meta.py")
    ]


async def test_agentscope_d21_a_rewritten_output_is_what_callers_get_and_of_acting_nobody_stores_it(
    either, bus
):
    """ReActAgent puts a tool's result into its memory inside `_acting`: `post_acting` can watch it
    and not change it."""
    agent = Agent()
    agent.register_instance_hook("post_reply", "redact", lambda self, kwargs, output: "REDACTED")
    memory = [await agent.reply("hi")]
    assert memory == ["REDACTED"]
    outputs = []
    react = react_agent([], ["/p0"])

    def note(agent, tool_call, result):
        outputs.append((tool_call["name"], result))

    bus.signal("post_acting").connect(note, role="observe")
    await react(Msg("user", "remove it", "user"))
    assert outputs == [("remove", None)]
    assert "Changes in `post_acting` usually have no effect" in agentscope.install.__doc__


async def test_agentscope_d22_events_say_who_changed_which_argument(strict, bus):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "changer", lambda self, kwargs: {"msg": "changed"})
    agent.register_instance_hook(
        "pre_reply", "popper", lambda self, kwargs: kwargs.pop("delay") and None
    )
    with record(bus) as fired:
        assert await agent.reply("hi", delay=0.001) == "re: changed"
    assert [
        (event.receiver, event.name, event.before, event.after) for event in fired.of(Mutated)
    ] == [("changer", "msg", "hi", "changed")]


# -- what strict leaves behind ---------------------------------------------------------------------


async def test_hooks_registered_before_install_and_after_uninstall_are_the_same(bus):
    agent, ran = Agent(), []
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: ran.append("a"))
    AgentBase.register_class_hook("pre_reply", "b", lambda self, kwargs: ran.append("b"))
    uninstall = agentscope.install(bus, strict=True)
    try:
        assert [row.receiver for row in explain(agent.reply)] == ["a", "b"]
        await agent.reply("hi")
        agent.register_instance_hook("pre_reply", "c", lambda self, kwargs: ran.append("c"))
    finally:
        uninstall()
    await agent.reply("hi")
    AgentBase.clear_class_hooks()
    assert ran == ["a", "b", "a", "c", "b"]


async def test_explain_says_in_which_file_and_line_a_registered_hook_stands(either):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "later", later_none)
    [row] = explain(agent.reply)
    code = later_none.__code__
    assert row.where == f"{code.co_filename}:{code.co_firstlineno}"
    assert row.scope.startswith("Agent at")
