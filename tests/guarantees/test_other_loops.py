"""Where something else than asyncio awaits a call, as trio does, everybody is asked and a guard
still closes (G3, G8, G16).
"""

from __future__ import annotations

import types

import pytest

from hookbus import Bus, HookBlocked, events, hookable, report

HOT = 20


@types.coroutine
def pause():
    """Wait for whoever drives this coroutine: to asyncio it would be an error."""
    yield "pause"


def run(coroutine):
    """Drive a coroutine to its end, as an event loop does that is not that of asyncio."""
    try:
        while coroutine.send(None) == "pause":
            pass
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited for another loop")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def agent(bus):
    class Agent:
        bodies = 0

        @hookable("think", bus=bus)
        async def think(self, msg):
            self.bodies += 1
            await pause()
            return msg

    return Agent()


@pytest.mark.parametrize("is_observed", [False, True])
@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
def test_observers_that_are_awaited_answer_one_after_the_other(bus, agent, phase, is_observed):
    seen = []

    async def first(agent, msg):
        await pause()
        seen.append("first")

    async def breaks(agent, msg):
        await pause()
        raise ValueError("broken")

    async def last(agent, msg):
        await pause()
        seen.append("last")

    for observer in (first, breaks, last):
        bus.signal(f"{phase}_think").connect(observer, role="observe")
    if is_observed:
        bus.events.connect(lambda bus, event: None, weak=False)
    assert [run(agent.think(n)) for n in range(HOT)] == list(range(HOT))
    assert seen == ["first", "last"] * HOT
    assert f"failed open {HOT} times, last: ValueError" in str(report(bus))


def test_modifiers_guards_and_arounds_are_awaited(bus, agent):
    async def twice(agent, msg):
        await pause()
        return {"msg": msg * 2}

    async def ask(agent, msg):
        await pause()

    async def around(agent, call_next):
        await pause()
        return await call_next()

    bus.signal("pre_think").connect(twice)
    bus.signal("pre_think").connect(ask, role="guard")
    bus.signal("around_think").connect(around)
    assert [run(agent.think(2)) for _ in range(HOT)] == [4] * HOT


@pytest.mark.parametrize("is_async", [False, True])
def test_a_deadline_fails_before_its_receiver_begins_and_says_what_it_needs(bus, agent, is_async):
    begun, failed = [], []

    async def waits(agent, msg):
        begun.append(msg)

    def blocks(agent, msg):
        begun.append(msg)

    bus.events.connect(
        lambda bus, event: failed.append(event) if isinstance(event, events.Failed) else None,
        weak=False,
    )
    bus.signal("pre_think").connect(waits if is_async else blocks, role="guard", timeout=1.0)
    for _ in range(HOT):
        with pytest.raises(HookBlocked):
            run(agent.think(1))
    assert (begun, agent.bodies) == ([], 0)
    assert len(failed) == HOT and all(
        "needs a running asyncio event loop" in str(event.exception) for event in failed
    )
