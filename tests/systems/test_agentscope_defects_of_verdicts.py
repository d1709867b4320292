"""AgentScope's defects in what a verdict does are not hookbus's."""

import gc
import inspect
import weakref

import pytest

from hookbus import Block, HookBlocked, Replace, hookable
from hookbus.events import Blocked, Failed, Finished, Mutated
from hookbus.testing import record

from . import agentscope_agent as parts

Agent = parts.Agent


async def test_agentscope_d18_a_block_and_a_replacement_stop_the_body_and_reach_the_caller(
    bus, Agent
):
    agent = Agent()
    with bus.signal("pre_reply").connected_to(lambda agent: Block("not today"), role="guard"):
        with pytest.raises(HookBlocked) as blocked:
            await agent.reply("hi")
        assert blocked.value.reason == "not today"
    with bus.signal("pre_reply").connected_to(lambda agent: Block("not today", result="refused")):
        assert await agent.reply("hi") == "refused"
    with bus.signal("pre_reply").connected_to(lambda agent: Replace("cached")):
        assert await agent.reply("hi") == "cached"
    assert agent.bodies == []


async def test_agentscope_d19_a_weakly_connected_method_does_not_keep_its_owner_alive(bus, Agent):
    ran = []

    class Plugin:
        def look(self, agent):
            ran.append("look")

    plugin = Plugin()
    bus.signal("pre_reply").connect(plugin.look, weak=True)
    await Agent().reply("hi")
    gone = weakref.ref(plugin)
    del plugin
    gc.collect()
    assert gone() is None
    await Agent().reply("hi")
    assert ran == ["look"]


async def test_agentscope_d20_without_receivers_a_call_runs_the_very_code_of_the_method(bus, Agent):
    """What it costs is in `tests/systems/measure_agentscope.py`; here, that nothing is left to cost
    anything."""
    frames = []

    class Watched:
        @hookable("watched", bus=bus)
        async def reply(self):
            frames.extend(frame.filename for frame in inspect.stack()[1:])

    await Watched().reply()
    package = inspect.getfile(hookable).rsplit("/", 1)[0]
    assert not [name for name in frames if name.startswith((package, "<hookbus"))]
    handle = bus.signal("pre_watched").connected_to(lambda agent: None)
    frames.clear()
    await Watched().reply()
    assert [name for name in frames if name.startswith((package, "<hookbus"))]
    handle.disconnect()


async def test_agentscope_d21_a_rewritten_result_is_what_the_caller_gets_and_stores(bus, Agent):
    memory = []
    bus.signal("post_reply").connect(lambda agent, result: "REDACTED")
    memory.append(await Agent().reply("remove /p0"))
    assert memory == ["REDACTED"]


async def test_agentscope_d22_events_say_who_changed_which_argument_from_what_to_what(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: {"msg": "changed"}, name="changer")
    bus.signal("pre_reply").connect(
        lambda agent, ctx: ctx.kwargs.pop("delay") and None, name="popper"
    )
    with record(bus) as fired:
        assert await Agent().reply("hi", delay=0.001) == "re: changed"
    assert [
        (event.receiver, event.name, event.before, event.after) for event in fired.of(Mutated)
    ] == [("changer", "msg", "hi", "changed")]
    [failed] = fired.of(Failed)
    assert failed.receiver == "popper" and "'delay' was removed" in str(failed.exception)
    assert fired.of(Blocked) == [] and [event.outcome for event in fired.of(Finished)] == [
        "returned"
    ]
