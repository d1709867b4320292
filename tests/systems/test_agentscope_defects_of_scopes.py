"""AgentScope's defects in what hooks return and where they are registered are not hookbus's."""

import asyncio
import functools
import threading
import time
import unittest.mock
from abc import ABC, abstractmethod
from typing import Protocol

import pydantic
import pytest

from hookbus import HookError, Replace, explain, hookable, report
from hookbus.events import Failed
from hookbus.exceptions import HookWarning
from hookbus.testing import record

from . import agentscope_agent as parts

Agent = parts.Agent


async def later_none(agent):
    await asyncio.sleep(0)


# -- what receivers return -------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["text", False, ["list"], {"mgs": "unknown argument"}])
@pytest.mark.parametrize(
    "wrap", [lambda f: f, functools.partial], ids=["a function", "a partial of it"]
)
async def test_agentscope_d11_a_wrong_return_is_reported_with_the_receivers_name(
    bus, Agent, answer, wrap
):
    def careless(agent, msg):
        return answer

    bus.signal("pre_reply").connect(wrap(careless))
    with record(bus) as fired:
        assert await Agent().reply("hi") == "re: hi"
    [failed] = fired.of(Failed)
    assert failed.receiver.endswith("careless")
    assert ("did you mean 'msg'" in str(failed.exception)) == isinstance(answer, dict)


async def test_agentscope_d11_a_patch_merges_a_replacement_is_explicit_and_a_result_may_be_none(
    bus, Agent
):
    seen = []
    bus.signal("pre_reply").connect(lambda agent: {"msg": "patched"})
    bus.signal("pre_reply").connect(
        lambda agent, ctx: seen.append(dict(ctx.kwargs)), role="observe"
    )
    bus.signal("post_reply").connect(lambda agent: Replace(None))
    assert await Agent().reply("hi", delay=0.001) is None
    assert seen == [{"msg": "patched", "delay": 0.001}]


class Called:
    async def __call__(self, agent):
        await asyncio.sleep(0)


def plain_decorator(function):
    @functools.wraps(function)
    def plain(*args):
        return function(*args)

    return plain


ASYNC_SHAPES = {
    "an object": Called(), "a decorated function": plain_decorator(later_none),
    "a lambda": lambda agent: later_none(agent), "a partial": functools.partial(later_none),
}  # fmt: skip


@pytest.mark.parametrize("shape", list(ASYNC_SHAPES))
@pytest.mark.parametrize("phase", ["pre", "post"])
async def test_agentscope_d12_whatever_is_awaitable_is_awaited(bus, Agent, shape, phase):
    bus.signal(f"{phase}_reply").connect(ASYNC_SHAPES[shape])
    with record(bus) as fired:
        assert await Agent().reply("hi") == "re: hi"
    fired.no_failures()


@pytest.mark.parametrize("shape", list(ASYNC_SHAPES))
@pytest.mark.filterwarnings("error")
def test_agentscope_d12_on_a_sync_method_an_async_receiver_is_refused_and_no_coroutine_gets_out(
    bus, shape
):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            return "re"

    try:
        bus.signal("post_reply").connect(ASYNC_SHAPES[shape])
    except HookError as refused:
        assert "is async" in str(refused)
    else:
        with record(bus) as fired:
            assert Agent().reply() == "re"
        assert [event.action for event in fired.of(Failed)] == ["isolated"]


# -- scopes and registration -----------------------------------------------------------------------


async def test_agentscope_d13_a_class_receiver_is_for_its_class_and_clearing_a_scope_leaves_others(
    bus, Agent
):
    class One(Agent):
        pass

    class Two(Agent):
        pass

    ran = []
    handles = {
        cls: bus.signal("pre_reply").connected_to(
            lambda agent, c=cls: ran.append(c.__name__), sender=cls, name="same name"
        )
        for cls in (Agent, One, Two)
    }
    await Two().reply("hi")
    assert ran == ["Two", "Agent"]
    handles[One].disconnect()
    await One().reply("hi")
    assert ran == ["Two", "Agent", "Agent"]


async def test_agentscope_d14_one_exception_a_suggestion_a_decorator_and_a_rule_for_the_same_again(
    bus, Agent
):
    with pytest.raises(HookError, match="not callable"):
        bus.signal("pre_reply").connect(42)
    with pytest.raises(HookError, match="did you mean 'reply'"):
        bus.require_guard("repyl")
    ran = []

    @bus.signal("post_reply").connect_via(Agent)
    def log(agent):
        ran.append("log")

    bus.signal("post_reply").connect(log, sender=Agent, name="log, with other options")
    await Agent().reply("hi")
    assert ran == ["log"], "connecting again replaces the options and keeps the place"
    assert [row.receiver for row in explain(Agent.reply)] == ["log, with other options"]


async def test_agentscope_d15_a_receiver_that_calls_its_own_point_is_reported(bus, Agent):
    async def calls_itself(agent, msg):
        return {"msg": await agent.reply(msg)}

    bus.signal("pre_reply").connect(calls_itself)
    with record(bus) as fired:
        assert (await Agent().reply("hi")).endswith("re: hi")
    (failed,) = fired.of(Failed)
    assert isinstance(failed.exception, RecursionError)
    assert "if it calls reply, stop the recursion with a condition" in failed.message


async def test_agentscope_d15_recursion_is_hooked_at_every_level(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            return n if n == 0 else await self.reply(n - 1)

    seen = []
    bus.signal("pre_reply").connect(lambda agent, n: seen.append(n))
    await Agent().reply(2)
    assert seen == [2, 1, 0]


async def test_agentscope_d16_mixins_every_colour_abc_pydantic_protocol_and_ones_own_methods(bus):
    class Mixin:
        @hookable("plan", bus=bus)
        def plan(self):
            return "plan"

    class Abstract(ABC):
        @hookable("reply", bus=bus)
        @abstractmethod
        async def reply(self): ...

    class Shape(Protocol):
        @hookable("shape", bus=bus)
        def shape(self):
            return "shape"

    class Model(pydantic.BaseModel):
        name: str = "model"

        @hookable("items", bus=bus)
        def items(self):
            yield self.name

    class Agent(Mixin, Abstract, Shape):
        @hookable("reply", bus=bus)
        async def reply(self):
            return "reply"

        @hookable("stream", bus=bus)
        async def stream(self):
            yield "item"

    ran, hooks, agent = [], ["plan", "reply", "shape", "items", "stream"], Agent()
    for hook in hooks:
        bus.signal(f"pre_{hook}").connect(lambda agent, hook=hook: ran.append(hook))
    assert (agent.plan(), await agent.reply(), agent.shape()) == ("plan", "reply", "shape")
    assert list(Model().items()) == ["model"]
    assert [item async for item in agent.stream()] == ["item"] and ran == hooks
    with pytest.raises(TypeError, match="abstract"):
        Abstract()


async def test_agentscope_d16_what_replaces_a_hooked_method_undecorated_is_reported(bus, Agent):
    class Silent(Agent):
        async def reply(self, msg):
            return "unhooked"

    with pytest.warns(HookWarning, match="does not guard all of .*Silent.reply"):
        bus.signal("pre_reply").connect(lambda agent: None, sender=Silent, role="guard")
    assert any("Silent.reply" in finding for finding in report(bus).findings)
    agent = Agent()
    with unittest.mock.patch.object(agent, "reply", unittest.mock.AsyncMock(return_value="mock")):
        assert await agent.reply("hi") == "mock"
        with pytest.raises(HookError, match="is not hookable"):
            explain(agent.reply)
    assert await agent.reply("hi") == "re: hi"


async def test_agentscope_d17_a_sync_receiver_with_a_deadline_runs_off_the_loop(bus, Agent):
    threads, ticks = [], []

    def blocks(agent):
        threads.append(threading.current_thread())
        time.sleep(0.3)

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    bus.signal("pre_reply").connect(blocks, timeout=10, role="observe")
    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    before = len(ticks)
    await Agent().reply("hi")
    ticking.cancel()
    assert threads[0] is not threading.current_thread()
    assert len(ticks) - before > 1, "the loop went on while the receiver slept"
