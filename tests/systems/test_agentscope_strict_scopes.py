"""With `install(strict=True)`: what AgentScope's hooks return, and where they are registered."""

import asyncio
import functools
import threading
import time

import pytest
from agentscope.agent import AgentBase
from agentscope.message import Msg

from hookbus import HookError, Replace, explain, report
from hookbus.events import Failed
from hookbus.testing import record

from . import agentscope_settings as parts
from .agentscope_settings import Agent, later_none

strict = parts.strict
either = parts.either


# -- what hooks return -----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["text", False, ["list"], {"mgs": 1}])
@pytest.mark.parametrize(
    "wrap", [lambda f: f, functools.partial], ids=["a function", "a partial of it"]
)
async def test_agentscope_d11_a_wrong_return_is_told_with_the_hooks_name(strict, bus, answer, wrap):
    agent = Agent()
    agent.register_instance_hook("pre_reply", "careless", wrap(lambda self, kwargs: answer))
    with record(bus) as fired:
        assert await agent.reply("hi") == "re: hi"
    assert [event.receiver for event in fired.of(Failed)] == ["careless"]


async def test_agentscope_d11_a_partial_dict_keeps_the_rest_and_the_output_may_become_none(
    strict,
):
    seen, agent = [], Agent()
    agent.register_instance_hook("pre_reply", "patch", lambda self, kwargs: {"msg": "patched"})
    agent.register_instance_hook(
        "post_reply", "see", lambda self, kwargs, output: seen.append(kwargs)
    )
    agent.register_instance_hook("post_reply", "none", lambda self, kwargs, output: Replace(None))
    assert await agent.reply("hi", delay=0.001) is None
    assert seen == [{"msg": "patched", "delay": 0.001}]


class Called:
    async def __call__(self, *_):
        await asyncio.sleep(0)


def plain_decorator(function):
    @functools.wraps(function)
    def plain(*args):
        return function(*args)

    return plain


SHAPES = {
    "an object": Called(),
    "a decorated function": plain_decorator(later_none),
    "a lambda": lambda *_: later_none(),
}


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("phase", ["pre", "post"])
async def test_agentscope_d12_whatever_is_awaitable_is_awaited(either, bus, shape, phase):
    agent = Agent()
    agent.register_instance_hook(f"{phase}_reply", "a", SHAPES[shape])
    with record(bus) as fired:
        assert await agent.reply("hi") == "re: hi"
    fired.no_failures()


# -- scopes and registration -----------------------------------------------------------------------


async def test_agentscope_d13_class_hooks_are_for_their_class_and_clearing_leaves_the_others(
    strict,
):
    class One(Agent):
        pass

    class Two(Agent):
        pass

    class Below(One):
        pass

    ran = []
    for cls in (AgentBase, One, Two):
        cls.register_class_hook(
            "pre_reply", "same name", lambda self, kwargs, c=cls: ran.append(c.__name__)
        )
    await Two().reply("hi")
    await Below().reply("hi")
    assert ran == ["Two", "AgentBase", "One", "AgentBase"]
    One.clear_class_hooks()
    ran.clear()
    await One().reply("hi")
    await Two().reply("hi")
    assert ran == ["AgentBase", "Two", "AgentBase"]
    with pytest.raises(ValueError, match="Hook 'same name' not found"):
        One.remove_class_hook("pre_reply", "same name")
    Two.remove_class_hook("pre_reply", "same name")
    assert list(AgentBase._class_pre_reply_hooks) == ["same name"]


async def test_agentscope_d14_registration_tells_mistakes_at_once_and_decorates(strict):
    agent = Agent()
    for owner, register in (
        (agent, agent.register_instance_hook),
        (Agent, Agent.register_class_hook),
    ):
        with pytest.raises(
            HookError, match="Agent has no hook 'pre_repyl'; did you mean 'pre_reply'"
        ):
            register("pre_repyl", "a", lambda self, kwargs: None)
        with pytest.raises(
            HookError, match="'not a function' cannot be registered as 'a': it is not callable"
        ):
            register("pre_reply", "a", "not a function")
        assert explain(owner.reply).rows == ()
    ran = []

    @Agent.register_class_hook("post_reply", "log")
    def log(self, kwargs, output):
        ran.append("first")

    Agent.register_class_hook(
        "post_reply", "second", lambda self, kwargs, output: ran.append("second")
    )
    Agent.register_class_hook(
        "post_reply", "log", lambda self, kwargs, output: ran.append("in its place")
    )
    await agent.reply("hi")
    assert callable(log) and ran == ["in its place", "second"]


async def test_agentscope_d14_an_agent_without_super_init_is_told_so_when_it_registers(strict):
    class Forgetful(AgentBase):
        def __init__(self):
            pass

    with pytest.raises(HookError, match=r"call super\(\).__init__\(\) first"):
        Forgetful().register_instance_hook("pre_reply", "a", lambda self, kwargs: None)


async def test_agentscope_d15_recursion_is_hooked_at_every_level(strict):
    class Recursive(AgentBase):
        async def reply(self, n):
            return n if n == 0 else await self.reply(n - 1)

    seen, agent = [], Recursive()
    agent.register_instance_hook("pre_reply", "see", lambda self, kwargs: seen.append(kwargs["n"]))
    await agent.reply(2)
    assert seen == [2, 1, 0]


async def test_agentscope_d16_methods_of_mixins_sync_and_generator_methods_are_hooked(strict, bus):
    class Mixin:
        async def reply(self, msg):
            return f"mixin {msg}"

    class Mixed(Mixin, AgentBase):
        pass

    class Plain(AgentBase):
        def reply(self, msg):
            return f"plain {msg}"

    class Streaming(AgentBase):
        async def reply(self, msg):
            yield f"stream {msg}"

    for cls in (Mixed, Plain, Streaming):
        cls.register_class_hook("pre_reply", "patch", lambda self, kwargs: {"msg": "patched"})
    assert await Mixed().reply("hi") == "mixin patched"
    assert Plain().reply("hi") == "plain patched"
    assert [item async for item in Streaming().reply("hi")] == ["stream patched"]
    assert "reply" not in vars(Mixin) or not hasattr(vars(Mixin)["reply"], "__wrapped__")


async def test_agentscope_d16_a_method_assigned_later_is_reported(strict, bus):
    class Late(Agent):
        pass

    async def reply(self, msg):
        return "unhooked"

    Late.reply = reply
    bus.signal("pre_reply").connect(lambda agent: None, sender=Agent)
    await Agent().reply("hi")
    assert any("Late.reply" in finding for finding in report(bus).findings)


async def test_agentscope_d17_a_receiver_with_a_deadline_runs_off_the_loop(either, bus):
    threads = []

    def blocks(agent):
        threads.append(threading.current_thread())
        time.sleep(0.05)

    bus.signal("pre_print").connect(blocks, timeout=10, role="observe", sender=AgentBase)
    agent = Agent()
    agent.set_console_output_enabled(False)
    await agent.print(Msg("a", "text", "assistant"))
    assert threads[0] is not threading.current_thread()
