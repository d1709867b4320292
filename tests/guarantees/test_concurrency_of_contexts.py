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


async def test_what_a_plain_receiver_sets_within_its_deadline_is_seen_by_all_that_follows(family):
    seen = {}

    def note(agent, ctx):
        seen.setdefault(ctx.hook, []).append(SESSION.get())

    def sets(agent, ctx):
        SESSION.set(f"set in {ctx.phase}")

    def sets_and_fails(agent, ctx):
        sets(agent, ctx)
        raise ValueError

    for hook in ("think", "reply", "stream", "feed"):
        pre, post = family.bus.signal(f"pre_{hook}"), family.bus.signal(f"post_{hook}")
        pre.connect(sets, priority=1, timeout=10.0)
        pre.connect(note)
        post.connect(note, priority=1)
        post.connect(sets_and_fails, timeout=10.0)
        family.bus.signal(f"finally_{hook}").connect(note)

    async def calls():
        callback = lambda agent: seen.setdefault("think", []).append(SESSION.get())  # noqa: E731
        family.agent.think("hi", callback)
        list(family.agent.stream("hi"))
        await family.agent.reply("hi")
        assert [item async for item in family.agent.feed("hi")] == ["hi", "hi"]

    await asyncio.create_task(calls())
    each = ["set in pre", "set in pre", "set in post"]
    assert seen.pop("think") == ["set in pre", *each]
    assert seen == {"reply": each, "stream": each, "feed": each}
    assert SESSION.get() == "nobody's"


@pytest.mark.parametrize("hook", ["think", "reply"])
async def test_what_a_receiver_sets_that_is_late_is_seen_by_nobody(family, hook):
    opened, left = threading.Event(), threading.Event()

    def late(agent):
        SESSION.set("too late")
        opened.wait(10)
        left.set()

    family.bus.signal(f"pre_{hook}").connect(late, timeout=0.01)
    SESSION.set("mine")
    answer = getattr(family.agent, hook)("hi")
    assert (await answer if hook == "reply" else answer) == "hi"
    opened.set()
    assert left.wait(10)
    assert SESSION.get() == "mine"


async def test_what_another_task_sets_meanwhile_in_the_same_context_stays(family):
    entered, opened = threading.Event(), threading.Event()

    def slow(agent):
        entered.set()
        opened.wait(10)

    family.bus.signal("pre_reply").connect(slow, timeout=10.0)
    shared = contextvars.copy_context()
    shared.run(SESSION.set, "before")
    loop = asyncio.get_running_loop()
    task = loop.create_task(family.agent.reply("hi"), context=shared)
    while not entered.is_set():
        await asyncio.sleep(0.001)

    async def other():
        SESSION.set("meanwhile")

    await loop.create_task(other(), context=shared)
    opened.set()
    assert await task == "hi"
    assert shared[SESSION] == "meanwhile"


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
