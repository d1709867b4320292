"""A deadline holds whatever the receiver does, also when every worker is stuck; nobody waits for a
lock (G21, G26).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from hookbus import Bus, HookBlocked, events, hookable

DEADLINE = 0.02
LENIENT = 0.5
"""A deadline that is kept by whoever only starts something, however busy the machine."""

MANY = 150
"""More calls than anybody would give threads to."""


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def told(bus):
    heard = []
    bus.events.connect(lambda bus, event: heard.append(event))
    return lambda kind: [event for event in heard if isinstance(event, kind)]


@pytest.fixture
def agent(bus):
    class Agent:
        bodies = 0

        @hookable("think", bus=bus)
        def think(self, msg="hello", beat=None):
            self.bodies += 1
            if beat:
                beat()
            return msg

        @hookable("reply", bus=bus)
        async def reply(self, msg="hello", beat=None):
            self.bodies += 1
            if beat:
                await beat()
            return msg

    return Agent()


class Gate:
    """What receivers hang at until the test opens it."""

    def __init__(self):
        self.entered = threading.Event()
        self._opened = threading.Event()
        self._exits = []

    @property
    def inside(self):
        return len(self._exits)

    def wait(self):
        self._exits.append(threading.Event())
        mine = self._exits[-1]
        self.entered.set()
        self._opened.wait(60)
        mine.set()

    def open(self):
        """Open it, and wait until everybody has left."""
        self._opened.set()
        for left in self._exits:
            assert left.wait(10)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


def test_a_guard_that_hangs_blocks_every_call_also_when_no_worker_is_left(bus, agent, told, gate):
    def guard(agent):
        gate.wait()

    signal = bus.signal("pre_think")
    signal.connect(guard, role="guard", timeout=DEADLINE)
    for _ in range(MANY):
        with pytest.raises(HookBlocked):
            agent.think()
    assert 0 < (begun := gate.inside) < MANY, "the workers are capped"
    gate.open()
    assert agent.bodies == 0, "a late yes is no yes"
    assert (
        len(told(events.Failed)) == len(told(events.Blocked)) == len(told(events.Finished)) == MANY
    )
    signal.connect(guard, role="guard", timeout=10.0)
    assert agent.think("afresh") == "afresh"
    assert gate.inside == begun + 1, "who is waited for no more has no turn"


MEETING = """
import threading
from hookbus import Bus, hookable

bus, meeting = Bus(), threading.Barrier(2)

@hookable(bus=bus)
def think(about):
    return about

def guard(_, about):
    if about == "together":
        meeting.wait(10)

bus.signal("pre_think").connect(guard, role="guard", timeout=5)
for _ in range(9):
    think("alone")
found = []
pair = [threading.Thread(target=lambda: found.append(think("together"))) for _ in range(2)]
for each in pair:
    each.start()
for each in pair:
    each.join()
print(*found)
"""


def test_guards_that_wait_for_each_other_have_a_worker_each_also_after_many_calls():
    ran = subprocess.run(
        [sys.executable, "-c", MEETING], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.split() == ["together", "together"], ran.stderr


async def test_guards_that_hang_block_overlapping_calls_and_not_the_loop(bus, agent, told, gate):
    bus.signal("pre_reply").connect(lambda agent: gate.wait(), role="guard", timeout=DEADLINE)
    calls = [asyncio.create_task(agent.reply()) for _ in range(MANY)]
    await asyncio.wait(calls, timeout=60)
    assert all(isinstance(call.exception(), HookBlocked) for call in calls)
    gate.open()
    assert agent.bodies == 0
    assert len(told(events.Failed)) == len(told(events.Blocked)) == MANY


def test_modifiers_that_hang_are_left_behind_also_when_no_worker_is_left(bus, agent, told, gate):
    def modifier(agent, ctx):
        gate.wait()
        return {"msg": "late"}

    bus.signal("pre_think").connect(modifier, timeout=DEADLINE)
    assert {agent.think("mine") for _ in range(MANY)} == {"mine"}
    gate.open()
    assert agent.bodies == MANY
    assert [failed.action for failed in told(events.Failed)] == ["isolated"] * MANY
    assert not told(events.Mutated)


def test_a_late_write_changes_nothing_even_while_its_call_is_still_on(bus, agent, told, gate):
    def modifier(agent, ctx):
        gate.wait()
        ctx.kwargs["msg"] = "late"
        ctx.kwargs["beat"] = None
        return {"msg": "later still"}

    seen = []
    bus.signal("pre_think").connect(modifier, timeout=DEADLINE)
    bus.signal("pre_think").connect(lambda agent: gate.open(), priority=-1)
    bus.signal("pre_think").connect(lambda agent, msg: seen.append(msg), role="guard")
    assert agent.think("mine") == "mine"
    assert seen == ["mine"]
    assert not told(events.Mutated)


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_deadline_of_the_bus_is_the_deadline_of_receivers_without_one(role, gate):
    bus = Bus(timeout=DEADLINE)

    class Agent:
        @hookable("think", bus=bus)
        def think(self):
            return "thought"

    bus.signal("pre_think").connect(lambda agent: gate.wait(), role=role)
    if role == "guard":
        with pytest.raises(HookBlocked):
            Agent().think()
    else:
        assert Agent().think() == "thought"


def test_receivers_in_workers_may_connect_disconnect_and_call_without_a_deadlock(bus, agent):
    depths = []

    def nested(agent, msg):
        def passing(agent):
            depths.append(len(msg))

        bus.signal("pre_think").connect(passing, sender=agent, timeout=10.0)
        if len(msg) < 20:
            agent.think(msg + ".")
        bus.signal("pre_think").disconnect(passing, sender=agent)

    bus.signal("pre_think").connect(nested, role="guard", timeout=10.0)
    thread = threading.Thread(target=agent.think, args=("",))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert agent.bodies == 21


def test_a_call_waits_for_no_other_call_whose_receiver_is_stuck(bus, agent, gate):
    def stuck(agent, msg):
        if msg == "stuck":
            gate.wait()

    bus.signal("pre_think").connect(stuck, role="guard")
    thread = threading.Thread(target=agent.think, args=("stuck",))
    thread.start()
    assert gate.entered.wait(10)
    bus.signal("post_think").connect(lambda agent: None)
    assert agent.think("free") == "free"
    gate.open()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_worker_of_its_parent(bus, agent):
    bus.signal("pre_think").connect(lambda agent: None, role="guard", timeout=10.0)
    assert agent.think("here") == "here"
    child = os.fork()
    if not child:
        signal.alarm(5)
        os._exit(agent.think("there") != "there")
    assert os.waitpid(child, 0)[1] == 0


def test_the_deadline_of_the_bus_is_not_one_of_an_around(agent, bus):
    bus.timeout, threads = 10.0, []

    def around(agent, call_next):
        threads.append(threading.current_thread())
        return call_next()

    bus.signal("around_think").connect(around)
    assert agent.think("here") == "here" and threads == [threading.current_thread()]
