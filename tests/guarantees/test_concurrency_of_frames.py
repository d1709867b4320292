"""What a call hands on to the calls made in it, and to nobody else (G1, G7)."""

from __future__ import annotations

import asyncio

import pytest

from ._family import Family


@pytest.fixture
def family():
    return Family()


@pytest.mark.parametrize(
    "waits", [asyncio.gather, lambda call: asyncio.wait_for(call, 10), asyncio.create_task]
)
async def test_super_in_a_task_the_body_waits_for_fires_nothing_again(family, waits):
    async def super_in_a_task(agent):
        await waits(family.Base.reply(agent, "super"))

    await family.agent.reply("first", super_in_a_task)
    assert family.asked == ["first"]


def test_the_consumer_of_a_stream_is_outside_of_it(family):
    for item in family.agent.stream("first"):
        assert list(family.Child().stream("drained")) == ["drained", "drained"]
    assert family.asked.count("first") == 1
    assert family.asked.count("drained") == 2
    assert family.parent_of(1) is None


async def test_the_consumer_of_an_async_stream_is_outside_of_it(family):
    async for item in family.agent.feed("first"):
        assert [item async for item in family.Child().feed("drained")] == ["drained", "drained"]
    assert family.asked.count("first") == 1
    assert family.asked.count("drained") == 2
    assert family.parent_of(1) is None


async def test_calls_in_a_body_in_its_tasks_and_in_its_threads_name_their_parent(family):
    other = family.Child()

    async def call_others(agent):
        await other.reply("in the body")
        await asyncio.create_task(other.reply("in a task"))
        await asyncio.to_thread(other.think, "in a thread")

    await family.agent.reply("first", call_others)
    await family.agent.reply("afterwards")
    assert [family.parent_of(n) for n in range(5)] == [None, 0, 0, 0, None]


IN_LINE, IN_A_WORKER = {}, {"timeout": 10.0}


@pytest.mark.parametrize(("phase", "options"), [
    ("pre", IN_LINE), ("around", IN_LINE), ("post", IN_LINE), ("finally", IN_LINE),
    ("pre", IN_A_WORKER), ("post", IN_A_WORKER), ("finally", IN_A_WORKER),
])  # fmt: skip
def test_calls_made_by_a_receiver_name_the_call_it_watches_as_their_parent(family, phase, options):
    other = family.Child()

    def asks_another(agent, ctx):
        if agent is family.agent:
            other.think("in a receiver")

    def asks_another_around(agent, ctx, call_next):
        asks_another(agent, ctx)
        return call_next()

    receiver = asks_another_around if phase == "around" else asks_another
    family.bus.signal(f"{phase}_think").connect(receiver, **options)
    family.agent.think("first")
    family.agent.think("afterwards")
    assert [family.parent_of(n) for n in range(3)] == [None, 0, None]


async def test_an_around_may_make_its_attempts_in_tasks_of_their_own(family):
    async def races(agent, call_next):
        first, second = await asyncio.gather(call_next(), asyncio.create_task(call_next()))
        return first + second

    family.bus.signal("around_reply").connect(races)
    assert await family.agent.reply("twice ") == "twice twice "
    assert family.asked == ["twice ", "twice "]
    assert family.parent_of(0) is None
