"""What a call hands on to the calls made in it, and to nobody else (G1, G7)."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from ._family import Family


@pytest.fixture
def family():
    return Family()


async def test_a_task_that_outlives_the_body_that_made_it_is_hooked_like_anyone_else(family):
    gate, tasks = asyncio.Event(), []

    async def later(agent):
        await gate.wait()
        await family.Base.reply(agent, "base, later")
        await agent.reply("child, later")

    async def start_it(agent):
        tasks.append(asyncio.create_task(later(agent)))

    await family.agent.reply("first", start_it)
    assert family.asked == ["first"]
    gate.set()
    await tasks[0]
    assert family.asked == ["first", "base, later", "child, later"]


def test_a_thread_that_outlives_the_body_that_made_it_is_hooked_like_anyone_else(family):
    gate, threads = threading.Event(), []

    def later(agent):
        assert gate.wait(10)
        family.Base.think(agent, "later")

    def start_it(agent):
        context = contextvars.copy_context()
        threads.append(threading.Thread(target=context.run, args=(later, agent)))
        threads[0].start()

    family.agent.think("first", start_it)
    gate.set()
    threads[0].join(10)
    assert family.asked == ["first", "later"]


@pytest.mark.parametrize(
    "waits", [asyncio.gather, lambda call: asyncio.wait_for(call, 10), asyncio.create_task]
)
async def test_super_in_a_task_the_body_waits_for_fires_nothing_again(family, waits):
    async def super_in_a_task(agent):
        await waits(family.Base.reply(agent, "super"))

    await family.agent.reply("first", super_in_a_task)
    assert family.asked == ["first"]


async def test_a_stranger_who_calls_the_base_while_a_call_is_under_way_is_hooked(family):
    gate = asyncio.Event()

    async def wait(agent):
        await gate.wait()

    running = asyncio.create_task(family.agent.reply("first", wait))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await family.Base.reply(family.agent, "stranger")
    await family.Base.reply(family.Child(), "another instance")
    gate.set()
    await running
    assert family.asked == ["first", "stranger", "another instance"]


async def test_another_instance_called_in_a_body_is_hooked(family):
    other = family.Child()

    async def ask_another(agent):
        await family.Base.reply(other, "other")

    await family.agent.reply("first", ask_another)
    assert family.asked == ["first", "other"]


def test_the_consumer_of_a_stream_is_outside_of_it(family):
    for item in family.agent.stream("first"):
        assert list(family.Base.stream(family.agent, "drained")) == ["drained", "drained"]
    assert family.asked.count("first") == 1
    assert family.asked.count("drained") == 2
    assert family.parent_of(1) is None


async def test_the_consumer_of_an_async_stream_is_outside_of_it(family):
    async for item in family.agent.feed("first"):
        assert [item async for item in family.Base.feed(family.agent, "drained")] == [
            "drained",
            "drained",
        ]
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


@pytest.mark.parametrize("options", [{}, {"timeout": 10.0}], ids=["inline", "in a worker"])
@pytest.mark.parametrize("phase", ["pre", "around", "post", "finally"])
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
