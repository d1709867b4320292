"""Connecting, disconnecting and calling at the same time: nothing lost, nothing twice, no deadlock
(G26, G28, G32).
"""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter

import pytest

from hookbus import Block, Bus, HookBlocked, hookable

STORM_SECONDS = 2.0


def agents(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg=""):
            return msg

        @hookable("think", bus=bus)
        def think(self, msg=""):
            return msg

        @hookable("stream", bus=bus)
        def stream(self, msg=""):
            yield msg

        @hookable("feed", bus=bus)
        async def feed(self, msg=""):
            yield msg

    return Agent


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def agent(bus):
    return agents(bus)()


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_receiver_that_removes_itself_skips_no_neighbour_and_is_gone_afterwards(bus, agent, role):
    ran, signal = [], bus.signal("pre_think")

    def receiver(name, removes_itself):
        def runs(agent):
            ran.append(name)
            if removes_itself:
                signal.disconnect(runs)

        return runs

    for name in "abcd":
        signal.connect(receiver(name, removes_itself=name in "bc"), role=role)
    agent.think()
    agent.think()
    assert "".join(ran) == "abcdad"


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_receiver_added_during_a_call_runs_from_the_next_call(bus, agent, role):
    ran, signal = [], bus.signal("pre_think")

    def added(agent):
        ran.append("added")

    def adds(agent):
        ran.append("adds")
        signal.connect(added, role=role)

    signal.connect(adds, role=role)
    agent.think()
    assert ran == ["adds"]
    agent.think()
    assert ran == ["adds", "adds", "added"]


@pytest.mark.parametrize("phase", ["post", "finally", "around"])
def test_a_receiver_of_a_later_phase_added_or_removed_during_a_call_counts_from_the_next(
    bus, agent, phase
):
    ran, signal = [], bus.signal(f"{phase}_think")

    def receiver(name):
        def runs(agent):
            ran.append(name)

        def runs_around(agent, call_next):
            ran.append(name)
            return call_next()

        return runs_around if phase == "around" else runs

    old, new = receiver("old"), receiver("new")
    signal.connect(old)

    def exchange(agent):
        signal.disconnect(old)
        signal.connect(new)

    bus.signal("pre_think").connect(exchange)
    agent.think()
    assert ran == ["old"]
    agent.think()
    assert ran == ["old", "new"]


def test_a_guard_disconnected_during_a_call_still_blocks_that_call(bus, agent):
    guards = bus.signal("pre_think")
    guard = guards.connect(lambda agent: Block("no"), role="guard")
    guards.connect(lambda agent: guards.disconnect(guard))
    with pytest.raises(HookBlocked):
        agent.think()
    assert agent.think("free") == "free"


async def test_the_receivers_are_those_of_the_moment_of_the_call_not_of_the_await_or_iteration(
    bus, agent
):
    asked = []
    first = [
        bus.signal(f"pre_{hook}").connect(lambda agent: asked.append("first")) for hook in HOOKS
    ]
    call, stream, feed = agent.reply(), agent.stream(), agent.feed()
    for hook, receiver in zip(HOOKS, first, strict=True):
        bus.signal(f"pre_{hook}").disconnect(receiver)
        bus.signal(f"pre_{hook}").connect(lambda agent: asked.append("second"))
    await call
    list(stream)
    assert [item async for item in feed] == [""]
    assert asked == ["first"] * 3
    await agent.reply()
    assert asked == ["first"] * 3 + ["second"]


HOOKS = ("reply", "stream", "feed")


async def test_a_call_made_when_nobody_listened_stays_unwatched(bus, agent):
    asked = []
    call, stream, feed = agent.reply("a"), agent.stream("b"), agent.feed("c")
    for hook in HOOKS:
        bus.signal(f"pre_{hook}").connect(lambda agent: asked.append("guard"), role="guard")
    assert [await call, *stream, *[item async for item in feed]] == ["a", "b", "c"]
    assert not asked


class Storm:
    """Threads that connect, disconnect and call for a while, and what went wrong."""

    def __init__(self, bus, agent):
        self.bus, self.agent = bus, agent
        self.over = time.monotonic() + STORM_SECONDS
        self.runs = {"guard": Counter(), "observer": Counter(), "passer-by": Counter()}
        self.called = set()
        self.errors = []
        for name, role in (("guard", "guard"), ("observer", "observe")):
            bus.signal("pre_think").connect(self.counts(name), sender=agent, role=role)

    def counts(self, name):
        counter, lock = self.runs[name], threading.Lock()

        def receiver(agent, msg):
            with lock:
                counter[msg] += 1

        return receiver

    def call(self, number):
        for turn in self.turns():
            msg = (number, turn)
            assert self.agent.think(msg) == msg
            self.called.add(msg)

    def come_and_go(self, number):
        def passer_by(agent, msg):
            seen.add(msg)

        for turn in self.turns():
            seen = set()
            sender = self.agent if turn % 2 else type(self.agent)
            self.bus.signal("pre_think").connect(passer_by, sender=sender, priority=turn % 3)
            self.agent.think(("own", number, turn))
            self.called.add(("own", number, turn))
            self.bus.signal("pre_think").disconnect(passer_by, sender=sender)
            assert ("own", number, turn) in seen
            self.agent.think(("gone", number, turn))
            self.called.add(("gone", number, turn))
            assert ("gone", number, turn) not in seen

    def turns(self):
        turn = 0
        while time.monotonic() < self.over:
            yield turn
            turn += 1

    def rage(self):
        threads = [
            threading.Thread(target=self.careful, args=(work, number))
            for number in range(6)
            for work in (self.call, self.come_and_go)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)

    def careful(self, work, number):
        try:
            work(number)
        except BaseException as error:
            self.errors.append(error)


def test_a_storm_of_connections_and_calls_loses_nothing_and_doubles_nothing(
    bus, agent, hasty_threads
):
    storm = Storm(bus, agent)
    storm.rage()
    assert not storm.errors
    assert len(storm.called) > 100
    once_each = Counter(storm.called)
    assert storm.runs["guard"] == once_each
    assert storm.runs["observer"] == once_each


def test_after_a_storm_only_those_who_stayed_are_connected(bus, agent, hasty_threads):
    signal, stayed = bus.signal("pre_think"), []

    def come_and_go(number):
        def leaves(agent):
            raise AssertionError("nobody calls")

        def stays(agent):
            stayed.append(number)

        for _ in range(100):
            signal.connect(leaves, sender=agent)
            signal.connect(stays, sender=agent)
            signal.disconnect(leaves, sender=agent)

    threads = [threading.Thread(target=come_and_go, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    agent.think()
    assert sorted(stayed) == list(range(8))


def test_a_guard_of_what_is_where_another_agent_died_during_a_collection_is_not_lost(bus, agent):
    collecting, is_replaced, agents = threading.Event(), threading.Event(), []
    guards = bus.signal("pre_think")

    class Mortal(type(agent)):
        def __del__(self):
            pass

    class Slow:
        def __init__(self):
            self.me = self

        def __del__(self):
            collecting.set()
            is_replaced.wait(10)

    def block(agent):
        return Block("no")

    def replace():
        collecting.wait(10)
        for _ in range(100):
            mortal = Mortal()
            guards.connect(block, sender=mortal, role="guard")
            place = id(mortal)
            del mortal
            agents.append(Mortal())
            if id(agents[-1]) == place:
                break
        guards.connect(block, sender=agents[-1], role="guard")
        is_replaced.set()

    thread = threading.Thread(target=replace)
    thread.start()
    Slow()
    gc.collect()
    thread.join()
    with pytest.raises(HookBlocked):
        agents[-1].think()


def test_connections_that_come_and_go_at_an_otherwise_empty_place_are_never_lost(
    bus, agent, hasty_threads
):
    signal, lost, over = bus.signal("pre_think"), [], time.monotonic() + STORM_SECONDS

    def come_and_go(number):
        seen = []

        def mine(agent, msg):
            seen.append(msg)

        while time.monotonic() < over:
            signal.connect(mine, sender=agent)
            agent.think(number)
            signal.disconnect(mine, sender=agent)
            if number not in seen:
                lost.append(number)
            seen.clear()

    threads = [threading.Thread(target=come_and_go, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not lost
    assert not list(signal.receivers_for(agent))
