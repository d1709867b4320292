"""Every exit of a call: one `Finished`, `finally` once, after the body, and the bare method's
exception (G3, G4, G18).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys

import pytest

from hookbus import Block, Bus, HookBlocked, hookable

from ._cells import STREAMS, TARGETS
from ._colours import take

AROUNDS = ("no around", "an around that loops", "an around that passes on")


class Exit(BaseException):
    """Nobody has special rules for it."""


CANCELS = (asyncio.CancelledError, GeneratorExit)
EXCEPTIONS = (
    ValueError,
    StopIteration,
    StopAsyncIteration,
    KeyboardInterrupt,
    SystemExit,
    Exit,
    *CANCELS,
)


def bare_class(trace, error):
    """Return a class with a method of every colour that fails with this error, if with any, after
    its first item.
    """

    class Bare:
        def sync(self, msg):
            with leaving(trace):
                fail(error)
                return msg

        async def async_(self, msg):
            with leaving(trace):
                await asyncio.sleep(0)
                fail(error)
                return msg

        def generator(self, msg):
            with leaving(trace):
                yield msg
                fail(error)

        async def async_generator(self, msg):
            with leaving(trace):
                yield msg
                await asyncio.sleep(0)
                fail(error)

    return Bare


@contextlib.contextmanager
def leaving(trace):
    try:
        yield
    finally:
        trace.append("left")


def fail(error):
    if error is not None:
        raise error


class Scene:
    """One hooked method, an around or none, and what is told of its calls."""

    def __init__(self, colour, around="no around", error=None):
        self.colour, self.trace, self.events = colour, [], []
        self.bus = Bus()
        bare = vars(bare_class(self.trace, error))["async_" if colour == "async" else colour]
        self.agent = type("Agent", (), {"reply": hookable("reply", bus=self.bus)(bare)})()
        self.bus.signal("finally_reply").connect(lambda agent, ctx: self.trace.append(ctx.outcome))
        self.bus.signal("error_reply").connect(
            lambda agent: self.trace.append("error"), role="observe"
        )
        if around != "no around":
            self.bus.signal("around_reply").connect(
                LOOPS[colour] if "loops" in around else passes_on
            )
        self.bus.events.connect(lambda bus, event: self.events.append(event))

    def told(self):
        return [type(event).__name__ for event in self.events]


def loops_over_items(agent, call_next):
    for item in call_next():  # noqa: UP028 - unlike `yield from`, a loop is where what is thrown in ends up
        yield item


async def loops_over_async_items(agent, call_next):
    async for item in call_next():
        yield item


async def awaits_it(agent, call_next):
    return await call_next()


def passes_on(agent, call_next):
    return call_next()


LOOPS = {
    "sync": passes_on,
    "async": awaits_it,
    "generator": loops_over_items,
    "async_generator": loops_over_async_items,
}


def outcome_of(call, *args):
    try:
        return call(*args), None
    except BaseException as error:
        return None, error


@pytest.mark.parametrize("around", AROUNDS)
@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_exception_of_the_body_comes_out_as_from_the_bare_method(colour, around, kind):
    error = kind("the body's own")
    bare = bare_class([], error)
    bare.reply = vars(bare)["async_" if colour == "async" else colour]
    scene = Scene(colour, around, error)
    expected = outcome_of(take, colour, bare(), "hello")
    got = outcome_of(take, colour, scene.agent, "hello")
    assert type(got[1]) is type(expected[1])
    assert (got[1] is error) == (expected[1] is error)
    is_asked = isinstance(expected[1], Exception)
    assert scene.trace == [
        "left",
        *(["error"] if is_asked else []),
        "cancelled" if isinstance(expected[1], CANCELS) else "raised",
    ]
    assert scene.told() == ["Started", "Finished"]
    assert scene.events[-1].error is got[1]


@pytest.mark.parametrize("around", AROUNDS)
@pytest.mark.parametrize("colour", TARGETS)
def test_a_call_that_returns_ends_once(colour, around):
    scene = Scene(colour, around)
    assert take(colour, scene.agent, "hello") == "hello"
    assert scene.trace == ["left", "returned"]
    assert scene.told() == ["Started", "Finished"]


def the_consumer_closes(stream):
    assert next(stream) == "hello"
    stream.close()


def the_consumer_breaks(stream):
    for _ in stream:
        break
    del stream


def the_consumer_throws(stream):
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError("mine"))


async def the_async_consumer_closes(stream):
    assert await anext(stream) == "hello"
    await stream.aclose()


async def the_async_consumer_breaks(stream):
    async with contextlib.aclosing(stream):
        async for _ in stream:
            break


async def the_async_consumer_throws(stream):
    await anext(stream)
    with pytest.raises(KeyError):
        await stream.athrow(KeyError("mine"))


LEAVES = {
    ("generator", "closes"): the_consumer_closes,
    ("generator", "breaks"): the_consumer_breaks,
    ("generator", "throws"): the_consumer_throws,
    ("async_generator", "closes"): the_async_consumer_closes,
    ("async_generator", "breaks"): the_async_consumer_breaks,
    ("async_generator", "throws"): the_async_consumer_throws,
}


@pytest.mark.parametrize("around", AROUNDS)
@pytest.mark.parametrize(("colour", "leaves"), LEAVES)
def test_a_stream_its_consumer_leaves_is_closed_and_nobody_has_failed(colour, leaves, around):
    scene = Scene(colour, around)
    left = LEAVES[colour, leaves](scene.agent.reply("hello"))
    if left is not None:
        asyncio.run(left)
    assert scene.trace == (
        ["left", "error", "raised"] if leaves == "throws" else ["left", "cancelled"]
    )
    assert scene.told() == ["Started", "Finished"]


def breaks_when_closed(agent, msg):
    try:
        yield msg
    finally:
        raise Exit


async def async_breaks_when_closed(agent, msg):
    try:
        yield msg
    finally:
        raise Exit


@pytest.mark.parametrize("around", AROUNDS)
@pytest.mark.parametrize(
    ("colour", "body"),
    [("generator", breaks_when_closed), ("async_generator", async_breaks_when_closed)],
)
def test_what_a_stream_raises_as_its_consumer_leaves_goes_out_and_is_how_it_ends(
    colour, body, around
):
    scene = Scene(colour, around)
    agent = type("Agent", (), {"reply": hookable("reply", bus=scene.bus)(body)})()
    with pytest.raises(Exit) as error:
        left = LEAVES[colour, "closes"](agent.reply("hello"))
        if left is not None:
            asyncio.run(left)
    assert scene.trace == ["raised"] and scene.told() == ["Started", "Finished"]
    assert scene.events[-1].error is error.value


@pytest.mark.parametrize("around", AROUNDS)
@pytest.mark.parametrize("colour", STREAMS)
@pytest.mark.parametrize("breaks", [Exit, ValueError], ids=["by a BaseException", "by a block"])
def test_a_stream_that_a_receiver_ends_leaves_its_body_before_finally(colour, around, breaks):
    scene = Scene(colour, around)

    def ends_it(agent, item):
        raise breaks

    scene.bus.signal("item_reply").connect(ends_it, role="guard")
    with pytest.raises(Exit if breaks is Exit else HookBlocked):
        take(colour, scene.agent, "hello")
    assert scene.trace == ["left", "raised" if breaks is Exit else "blocked"]


@pytest.mark.parametrize("around", AROUNDS)
def test_a_stream_cancelled_at_an_item_leaves_its_body_before_finally(around):
    scene = Scene("async_generator", around)

    async def hangs(agent, item):
        await asyncio.Event().wait()

    async def cancel_it():
        call = asyncio.create_task(anext(scene.agent.reply("hello")))
        for _ in range(10):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        assert call.cancelled()
        assert scene.trace == ["left", "cancelled"]

    scene.bus.signal("item_reply").connect(hangs, role="guard")
    asyncio.run(cancel_it())
    assert scene.told() == ["Started", "Finished"]


@pytest.mark.parametrize("colour", TARGETS)
def test_a_block_with_a_result_ends_once_and_enters_no_body(colour):
    scene = Scene(colour)
    scene.bus.signal("pre_reply").connect(lambda agent: Block("no", result="instead"), role="guard")
    assert take(colour, scene.agent, "hello") == "instead"
    assert scene.trace == ["blocked"]
    assert scene.told() == ["Started", "Blocked", "Finished"]


@pytest.mark.parametrize("is_in_a_circle", [False, True], ids=["alone", "held by its own agent"])
@pytest.mark.parametrize("around", AROUNDS)
def test_a_stream_that_is_forgotten_is_closed_when_it_is_collected(
    monkeypatch, around, is_in_a_circle
):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: unraisable.append(problem.exc_value))
    scene = Scene("generator", around)
    agent, scene.agent = scene.agent, None
    stream = agent.reply("hello")
    next(stream)
    if is_in_a_circle:
        agent.stream = stream
    del agent, stream
    gc.collect()
    assert not unraisable
    assert scene.trace == ["left", "cancelled"]
    assert scene.told() == ["Started", "Finished"]


@pytest.mark.parametrize("is_in_a_circle", [False, True], ids=["alone", "held by its own agent"])
@pytest.mark.parametrize("around", AROUNDS)
def test_an_async_stream_that_is_forgotten_is_closed_when_it_is_collected(around, is_in_a_circle):
    scene, problems = Scene("async_generator", around), []

    async def forget():
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: problems.append(context)
        )
        agent, scene.agent = scene.agent, None
        stream = agent.reply("hello")
        await anext(stream)
        if is_in_a_circle:
            agent.stream = stream
        del agent, stream
        gc.collect()
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(forget())
    assert not problems
    assert scene.trace == ["left", "cancelled"]
    assert scene.told() == ["Started", "Finished"]


def test_what_an_around_raises_in_the_place_of_what_it_had_inside_is_shown_with_that_once():
    bus, inner = Bus(), ValueError("inner")

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self):
            raise inner

    @bus.signal("around_reply").connect
    def around(agent, call_next):
        try:
            return call_next()
        except ValueError as error:
            raise KeyError("between") from error

    @bus.signal("around_reply").connect_via(priority=1)
    def outer(agent, call_next):
        try:
            return call_next()
        except KeyError:
            raise LookupError("outer") from None

    with pytest.raises(LookupError) as caught:
        Agent().reply()
    shown, error = [], caught.value
    while error is not None:
        assert not any(error is each for each in shown), "in a circle"
        shown.append(error)
        error = error.__cause__ or error.__context__
    assert [type(each) for each in shown] == [LookupError, KeyError, ValueError]
