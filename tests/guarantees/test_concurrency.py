"""Overlapping calls, in tasks and in threads: each is fully hooked and sees nothing of the others
(G1, G2, G7).
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest

from hookbus import ANY, Bus, events, hookable

CALLS = 1000


class Counts:
    """Receivers in every scope and phase that count, per call, how often they ran and whether the
    call is their own.
    """

    def __init__(self, bus, hook="reply"):
        self.bus, self.hook = bus, hook
        self.runs = {}
        self.mixed_up = []

    def receiver(self, name, is_around=False):
        counter = self.runs[name] = Counter()

        def counts(agent, ctx, n):
            counter[n] += 1
            if ctx.state.setdefault("n", n) != n or ctx.kwargs["n"] != n:
                self.mixed_up.append((name, n))

        def counts_around(agent, ctx, n, call_next):
            counts(agent, ctx, n)
            return call_next()

        return counts_around if is_around else counts

    def slow_receiver(self, name):
        counts = self.receiver(name)

        async def slow(agent, ctx, n):
            await asyncio.sleep(0)
            counts(agent, ctx, n)

        return slow

    def connect(self, phase, sender, make=None, role=None):
        name = f"{phase} {role or ''} {sender!r:.20} {len(self.runs)}"
        receiver = make(name) if make else self.receiver(name, is_around=phase == "around")
        options = {"role": role} if role else {}
        self.bus.signal(f"{phase}_{self.hook}").connect(receiver, sender=sender, **options)

    def connect_everywhere(self, *senders, slow=False):
        for sender in senders:
            for phase in ("pre", "post"):
                for role in ("modify", "guard", "observe"):
                    self.connect(phase, sender, self.slow_receiver if slow else None, role)
            self.connect("around", sender)
            self.connect("finally", sender, self.slow_receiver if slow else None)

    def assert_each_ran(self, expected):
        assert not self.mixed_up
        for name, counter in self.runs.items():
            assert counter == expected, name


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def told(bus):
    heard = []
    bus.events.connect(lambda bus, event: heard.append(event))
    return lambda kind: [event for event in heard if isinstance(event, kind)]


def once_each(calls=CALLS):
    return Counter(range(calls))


class Meeting:
    """Lets nobody pass before all have come: the calls overlap, all of them."""

    def __init__(self, size):
        self._missing = size
        self._all_here = asyncio.Event()

    async def join(self):
        self._missing -= 1
        if not self._missing:
            self._all_here.set()
        await self._all_here.wait()


async def test_a_thousand_overlapping_tasks_on_one_instance_are_each_fully_hooked(bus, told):
    meeting = Meeting(CALLS)

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await meeting.join()
            return n

    agent, counts = Agent(), Counts(bus)
    counts.connect_everywhere(agent, Agent, ANY)
    counts.connect_everywhere(agent, slow=True)
    assert await asyncio.gather(*(agent.reply(n) for n in range(CALLS))) == list(range(CALLS))
    counts.assert_each_ran(once_each())
    assert len({event.call_id for event in told(events.Started)}) == CALLS
    assert Counter(event.outcome for event in told(events.Finished)) == {"returned": CALLS}
    assert {event.parent_id for event in told(events.Started)} == {None}


def test_a_thousand_overlapping_threads_on_one_instance_are_each_fully_hooked(bus, told):
    meeting = threading.Barrier(CALLS, timeout=60)

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, n):
            meeting.wait()
            results[n] = n

    agent, counts, results = Agent(), Counts(bus), {}
    counts.connect_everywhere(agent, Agent, ANY)
    run_in_threads(agent.reply, CALLS)
    assert results == {n: n for n in range(CALLS)}
    counts.assert_each_ran(once_each())
    assert len({event.call_id for event in told(events.Started)}) == CALLS
    assert Counter(event.outcome for event in told(events.Finished)) == {"returned": CALLS}


def run_in_threads(function, count):
    threads = [threading.Thread(target=function, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


async def test_a_thousand_overlapping_streams_are_each_fully_hooked(bus):
    meeting = Meeting(CALLS)

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            yield n
            await meeting.join()
            yield n

    async def consume(n):
        return [item async for item in agent.reply(n)]

    agent, counts = Agent(), Counts(bus)
    for phase, role in [
        ("pre", "guard"),
        ("item", "modify"),
        ("post", "observe"),
        ("finally", None),
    ]:
        counts.connect(phase, agent, counts.slow_receiver, role)
    assert await asyncio.gather(*map(consume, range(CALLS))) == [[n, n] for n in range(CALLS)]
    assert not counts.mixed_up
    for name, counter in counts.runs.items():
        assert counter == Counter({n: 2 if name.startswith("item") else 1 for n in range(CALLS)}), (
            name
        )


async def test_one_blocked_call_of_many_blocks_no_other(bus, told):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            bodies.append(n)

    agent, bodies = Agent(), []

    async def only_even(agent, n):
        await asyncio.sleep(0)
        assert n % 2 == 0

    bus.signal("pre_reply").connect(only_even, sender=agent, role="guard")
    await asyncio.gather(*(agent.reply(n) for n in range(CALLS)), return_exceptions=True)
    assert sorted(bodies) == list(range(0, CALLS, 2))
    assert Counter(event.outcome for event in told(events.Finished)) == {
        "returned": CALLS // 2,
        "blocked": CALLS // 2,
    }


def family(bus, meeting):
    """Return a diamond whose every class overrides the hookable and calls `super()`, with a wait in
    every body.
    """

    class Base:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await meeting.join()
            return [n]

    class Left(Base):
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await asyncio.sleep(0)
            return ["left", *await super().reply(n)]

    class Right(Base):
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await asyncio.sleep(0)
            return ["right", *await super().reply(n)]

    class Bottom(Left, Right):
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await asyncio.sleep(0)
            return ["bottom", *await super().reply(n)]

    return Base, Left, Right, Bottom


async def test_super_fires_nothing_again_in_any_of_a_thousand_overlapping_calls_on_a_diamond(bus):
    Base, Left, Right, Bottom = family(bus, Meeting(CALLS))
    agent, counts = Bottom(), Counts(bus)
    counts.connect_everywhere(agent, Base, Right, ANY)
    results = await asyncio.gather(*(agent.reply(n) for n in range(CALLS)))
    assert results == [["bottom", "left", "right", n] for n in range(CALLS)]
    counts.assert_each_ran(once_each())


async def test_an_explicit_call_of_the_base_runs_bare_beside_running_calls(bus):
    Base, Left, Right, Bottom = family(bus, Meeting(CALLS))
    agent, counts = Bottom(), Counts(bus)
    counts.connect_everywhere(agent, Base, ANY)
    calls = [(Bottom, Left, Base)[n % 3].reply(agent, n) for n in range(CALLS)]
    results = await asyncio.gather(*calls)
    assert [len(result) for result in results[:3]] == [4, 3, 1]
    counts.assert_each_ran(Counter(range(0, CALLS, 3)))


async def test_a_retrying_around_repeats_guards_and_body_and_nothing_else(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, n):
            await asyncio.sleep(0)
            bodies[n] += 1

    async def three_times(agent, call_next):
        for _ in range(3):
            await call_next()

    agent, counts, bodies = Agent(), Counts(bus), Counter()
    counts.connect("pre", agent, role="guard")
    (guard,) = counts.runs.values()
    others = Counts(bus)
    others.connect("pre", agent, role="modify")
    others.connect("pre", agent, role="observe")
    others.connect("post", agent, role="guard")
    others.connect("finally", agent)
    bus.signal("around_reply").connect(three_times, sender=agent)
    await asyncio.gather(*(agent.reply(n) for n in range(CALLS)))
    assert guard == bodies == Counter(dict.fromkeys(range(CALLS), 3))
    others.assert_each_ran(once_each())


def test_real_recursion_is_hooked_at_every_depth_and_linked(bus, told):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, n):
            return 1 + self.reply(n - 1) if n else 0

    agent, counts = Agent(), Counts(bus)
    counts.connect_everywhere(agent, Agent)
    assert agent.reply(20) == 20
    counts.assert_each_ran(Counter(range(21)))
    started = told(events.Started)
    assert [event.parent_id for event in started] == [
        None,
        *(event.call_id for event in started[:-1]),
    ]


@pytest.mark.parametrize("depth", range(1, 7))
def test_however_deep_the_inheritance_each_receiver_runs_once(bus, depth):
    class Base:
        @hookable("reply", bus=bus)
        def reply(self, n):
            return [n]

    cls = Base
    for _ in range(depth):
        cls = child_of(cls, bus)
    agent, counts = cls(), Counts(bus)
    counts.connect_everywhere(agent, cls, Base, ANY)
    for n in range(10):
        assert len(agent.reply(n)) == 1 + depth
    counts.assert_each_ran(once_each(10))


def child_of(parent, bus):
    class Child(parent):
        @hookable("reply", bus=bus)
        def reply(self, n):
            return ["child", *super().reply(n)]

    return Child
