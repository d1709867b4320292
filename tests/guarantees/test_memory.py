"""Calls and short-lived agents leave nothing behind, and who has no receivers of its own carries
nothing (G30, P11).

`HOOKBUS_TIMES=10` makes everything ten times as long (nightly: TIMES=100).
"""

from __future__ import annotations

import asyncio
import gc
import linecache
import os
import sys
import tracemalloc
import weakref
from typing import Final

import pytest

from hookbus import Bus, HookBlocked, hookable
from hookbus._hooks.hook import hook_of
from hookbus._hooks.shell import compiled

TIMES: Final = int(os.environ.get("HOOKBUS_TIMES", "1"))
CALLS: Final = 20_000 * TIMES
AGENTS: Final = 1_000 * TIMES
FEW: Final = 100
"""So many blocks of memory come and go by themselves, in caches of the interpreter."""


class Refused(Exception):
    pass


def agents(bus):
    class Agent:
        @hookable("think", bus=bus)
        def think(self, msg=""):
            if msg == "raise":
                raise Refused
            return msg

        @hookable("reply", bus=bus)
        async def reply(self, msg=""):
            return msg

    return Agent


def connect_everything(bus, hook, sender):
    """Connect a receiver of each kind; whoever is asked makes something new, and may let it fail or
    block.
    """
    signal = bus.signal

    def notes(agent, msg, ctx):
        ctx.state["seen"] = [msg]
        ctx.kwargs["msg"] = msg

    def changes(agent, msg):
        if msg == "fail":
            raise Refused
        return {"msg": msg}

    def judges(agent, msg):
        if msg == "block":
            raise Refused

    def around(agent, ctx, call_next):
        return call_next()

    async def around_async(agent, ctx, call_next):
        return await call_next()

    signal(f"pre_{hook}").connect(notes, sender=sender)
    signal(f"pre_{hook}").connect(changes, sender=sender)
    signal(f"pre_{hook}").connect(judges, sender=sender, role="guard")
    signal(f"around_{hook}").connect(around if hook == "think" else around_async, sender=sender)
    signal(f"post_{hook}").connect(lambda agent, result: [result], sender=sender)
    signal(f"finally_{hook}").connect(lambda agent, ctx: ctx.state.clear(), sender=sender)


def collect():
    """Collect what died, and what dies of that."""
    for _ in range(3):
        gc.collect()


def growth(work, count):
    """Return by how many blocks of memory `work(count)` grows what is held, once it has warmed up.

    Threads of other tests may still be ending, so three attempts are made to see it grow by few:
    what leaks, leaks every time.
    """
    work(max(20, count // 10))
    grown = FEW
    for _ in range(3):
        collect()
        before = sys.getallocatedblocks()
        work(count)
        collect()
        grown = sys.getallocatedblocks() - before
        if grown < FEW:
            break
    return grown


@pytest.mark.parametrize("msg", ["as usual", "fail", "block", "raise"])
def test_calls_leave_memory_flat_however_they_end(msg):
    count = CALLS // 2
    bus = Bus()
    agent = agents(bus)()
    connect_everything(bus, "think", type(agent))

    def call(times):
        for _ in range(times):
            try:
                agent.think(msg)
            except (Refused, HookBlocked):
                pass

    assert growth(call, count) < FEW


def test_calls_that_are_awaited_leave_memory_flat():
    bus = Bus()
    agent = agents(bus)()
    connect_everything(bus, "reply", type(agent))

    async def call(times):
        for _ in range(times):
            await agent.reply("as usual")

    assert growth(lambda times: asyncio.run(call(times)), CALLS // 2) < FEW


def test_short_lived_agents_with_receivers_of_their_own_leave_nothing_behind():
    bus = Bus()
    Agent = agents(bus)
    hook = hook_of(Agent.think)

    class Careful(Agent):
        def careful(self, agent, msg):
            assert agent is self

    def live(times):
        for number in range(times):
            agent = (Agent, Careful)[number % 2]()
            if number % 2:
                bus.signal("pre_think").connect(agent.careful, sender=agent, role="guard")
            else:
                connect_everything(bus, "think", agent)
            agent.think("hello")

    idle = Agent.think.__code__
    live(20)
    texts, lines = compiled.cache_info().currsize, len(linecache.cache)
    assert growth(live, AGENTS) < FEW
    signals = bus.signals()
    assert not any(signal.connections() or signal.receivers for signal in signals)
    assert not hook.own_runs and len(hook.table) <= 2
    assert compiled.cache_info().currsize - texts <= 1
    assert len(linecache.cache) - lines <= 2
    assert Agent.think.__code__ is idle, "the last of them has switched the hook off"


def bytes_of(make, count):
    """Return how much memory so many agents take that were called."""
    agents = [None] * count
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for index in range(count):
        agents[index] = agent = make()
        agent.think("hello")
    del agent
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / count


def test_agents_without_receivers_of_their_own_carry_no_byte_more_than_bare_ones():
    bus = Bus()
    Agent = agents(bus)
    connect_everything(bus, "think", Agent)
    one_with_own = Agent()
    connect_everything(bus, "think", one_with_own)

    class Bare:
        def think(self, msg=""):
            return msg

    bytes_of(Agent, 20), bytes_of(Bare, 20)
    assert abs(bytes_of(Agent, AGENTS) - bytes_of(Bare, AGENTS)) < 1
    assert vars(Agent()) == {}


def test_plans_that_are_made_again_and_again_leave_nothing_behind():
    bus = Bus()
    agent = agents(bus)()
    connect_everything(bus, "think", type(agent))

    def passes_by(agent, msg):
        return None

    def change(times):
        for _ in range(times):
            bus.signal("pre_think").connect(passes_by, sender=type(agent))
            agent.think("hello")
            bus.signal("pre_think").disconnect(passes_by, sender=type(agent))
            agent.think("hello")

    change(20)
    texts = compiled.cache_info().currsize
    assert growth(change, CALLS // 200) < FEW
    assert compiled.cache_info().currsize == texts


def test_hooks_that_are_declared_between_connections_leave_nothing_behind():
    bus = Bus()
    signal = bus.signal("pre_reply")

    def receiver(agent):
        pass

    def declare_and_connect(number):
        for _ in range(number):

            @hookable("reply", bus=bus)
            def reply(msg):
                pass

            signal.connect(receiver)

    declare_and_connect(20)
    assert growth(declare_and_connect, CALLS // 20) < FEW


def test_a_receiver_of_an_agent_that_has_gone_needs_no_collection_to_go_too():
    bus = Bus()
    Agent = agents(bus)
    gc.collect()
    gc.disable()
    try:
        agent, receiver = Agent(), lambda agent: None
        bus.signal("pre_think").connect(receiver, sender=agent)
        agent.think()
        left = weakref.ref(agent), weakref.ref(receiver)
        del agent, receiver
        assert [each() for each in left] == [None, None]
    finally:
        gc.enable()


def test_of_many_texts_the_oldest_are_not_shown_any_more():
    for number in range(1100):
        compiled(f"make = {number}")
    assert sum(name.startswith("<hookbus ") for name in linecache.cache) <= 1024
