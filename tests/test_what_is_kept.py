"""What is left of an agent, and what it is guarded by, as it goes."""

import asyncio
import gc
import time
import weakref
from contextlib import suppress

import pytest

from hookbus import (
    Block,
    Bus,
    HookBlocked,
    hookable,
)

from ._seams import agent_of


@pytest.fixture
def bus():
    return Bus()


class Thing:
    """Something that may be referred to weakly."""


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("fails", [False, True], ids=["answers", "fails"])
def test_what_a_receiver_with_a_deadline_brought_is_not_kept(bus, is_async, fails):
    made = []

    def brings(agent):
        thing = Thing()
        made.append(weakref.ref(thing))
        if fails:
            raise LookupError(thing)
        return thing

    name = "think" if is_async else "reply"
    bus.signal(f"post_{name}").connect(brings, timeout=10.0)
    bus.signal(f"post_{name}").connect(lambda agent: "", priority=-1)
    call = getattr(agent_of(bus, []), name)
    gc.collect()
    gc.disable()
    try:
        asyncio.run(call("a")) if is_async else call("a")
        end = time.monotonic() + 5
        while made[0]() is not None and time.monotonic() < end:
            time.sleep(0.01)  # the worker is on its way to its next job
        assert made[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("is_hot", [False, True], ids=["first call", "later call"])
def test_what_an_agent_calls_as_it_is_collected_is_closed_where_its_own_method_guards(bus, is_hot):
    outcomes, ran = [], []

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            ran.append(msg)

        def guard(self, agent, msg):
            return None if msg == "alive" else Block("no")

        def __del__(self):
            try:
                self.reply("dying")
            except HookBlocked:
                outcomes.append("blocked")

    agent = Agent()
    bus.signal("pre_reply").connect(agent.guard, sender=agent, role="guard")
    if is_hot:
        agent.reply("alive")
    agent.circle = agent  # a collection lets go of weak references first
    del agent
    gc.collect()
    assert outcomes == ["blocked"] and "dying" not in ran


def test_an_attempt_of_an_agent_that_is_collected_goes_through_its_own_arounds(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

        def outer(self, agent, msg, call_next):
            return call_next(msg="patched") if msg == "dying" else call_next()

        def inner(self, agent, msg, call_next):
            return f"inner {call_next()}"

        def __del__(self):
            said.append(self.reply("dying"))

    said, agent = [], Agent()
    for priority, around in enumerate((agent.inner, agent.outer)):
        bus.signal("around_reply").connect(around, sender=agent, priority=priority)
    assert agent.reply("alive") == "inner alive"
    agent.circle = agent
    del agent, around
    gc.collect()
    assert said == ["inner patched"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_observers_raise_side_by_side_keeps_no_agent_alive(bus, error):
    async def breaks(agent):
        raise error

    async def looks(agent): ...

    for receiver in (breaks, looks):
        bus.signal("pre_think").connect(receiver, role="observe")
    made = []

    async def call():
        agent = agent_of(bus, [])
        made.append(weakref.ref(agent))
        with suppress(KeyboardInterrupt):
            await agent.think("a")

    gc.collect()
    gc.disable()
    try:
        asyncio.run(call())
        assert made[0]() is None
    finally:
        gc.enable()
