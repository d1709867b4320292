"""The context of the caller reaches every receiver, and none of a call's own stays behind (G30)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import threading

import pytest

from hookbus import events

from ._family import Family

SESSION = contextvars.ContextVar("SESSION", default="nobody's")


@pytest.fixture
def family():
    return Family()


@pytest.mark.parametrize("colour", ["def", "coroutine"])
@pytest.mark.parametrize("options", [{}, {"timeout": 10.0}], ids=["no deadline", "deadline"])
@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
async def test_what_the_caller_set_in_its_context_is_there_in_every_receiver(
    family, role, options, colour
):
    seen = []

    def receiver(agent):
        seen.append(SESSION.get())

    async def async_receiver(agent):
        seen.append(SESSION.get())

    asks = receiver if colour == "def" else async_receiver
    family.bus.signal("pre_reply").connect(asks, role=role, **options)

    async def session(name):
        SESSION.set(name)
        await family.agent.reply("hi")

    await session("first")
    await asyncio.gather(*(asyncio.create_task(session(name)) for name in ("a", "b", "c")))
    assert sorted(seen) == ["a", "b", "c", "first"]


def test_what_the_caller_set_is_there_in_a_worker_of_a_sync_call(family):
    seen = []
    family.bus.signal("pre_think").connect(
        lambda agent: seen.append(SESSION.get()), role="guard", timeout=10.0
    )
    contextvars.copy_context().run(lambda: (SESSION.set("mine"), family.agent.think("hi")))
    family.agent.think("hi")
    assert seen == ["mine", "nobody's"]


async def test_a_call_leaves_no_trace_in_the_context_of_its_caller(family):
    family.bus.signal("pre_reply").connect(lambda agent: None, timeout=10.0)
    before = dict(contextvars.copy_context())
    await family.agent.reply("hi")
    family.agent.think("hi")
    list(family.agent.stream("hi"))
    assert [item async for item in family.agent.feed("hi")] == ["hi", "hi"]
    assert dict(contextvars.copy_context()) == before


@pytest.mark.parametrize("ends", ["aclose", "athrow", "drain"])
async def test_a_stream_begun_in_one_task_and_ended_in_another_raises_nothing_of_its_own(
    family, ends
):
    stream = family.agent.feed("first")
    assert await asyncio.create_task(anext(stream)) == "first"

    async def end_it():
        if ends == "aclose":
            await stream.aclose()
        elif ends == "drain":
            assert [item async for item in stream] == ["first"]
        else:
            with pytest.raises(KeyError):
                await stream.athrow(KeyError("mine"))
        await family.agent.reply("afterwards")

    await asyncio.create_task(end_it())
    await family.agent.reply("at last")
    assert [family.parent_of(n) for n in range(3)] == [None, None, None]


def test_a_stream_begun_in_one_thread_and_closed_in_another_raises_nothing_of_its_own(family):
    stream = family.agent.stream("first")
    assert next(stream) == "first"
    errors = []

    def close():
        try:
            stream.close()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    thread.join(10)
    family.agent.think("afterwards")
    assert not errors
    assert family.parent_of(1) is None


async def test_a_stream_that_is_dropped_is_closed_without_a_word(family):
    unraisable, finished = [], []
    family.bus.events.connect(
        lambda bus, event: finished.append(event) if isinstance(event, events.Finished) else None
    )
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: unraisable.append(context))

    async def drop_it():
        stream = family.agent.feed("first")
        await anext(stream)

    with contextlib.suppress(StopAsyncIteration):
        await asyncio.create_task(drop_it())
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not unraisable
    assert [event.outcome for event in finished] == ["cancelled"]
