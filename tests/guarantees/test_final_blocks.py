"""A block is final, and `call_next` ends with its around: nobody talks the body into running after
all (G8, G11).
"""

from __future__ import annotations

import asyncio

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, events, hookable

from ._cells import STREAMS, TARGETS
from ._colours import make_agent, take


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def told(bus):
    heard = []
    bus.events.connect(lambda bus, event: heard.append(event))
    return lambda kind: [event for event in heard if isinstance(event, kind)]


@pytest.fixture
def agent(bus, colour):
    return make_agent(bus, colour)


def only_hello(agent, msg):
    return None if msg == "hello" else Block("not that")


def around(colour, on_block):
    """Return an around of this colour that patches the arguments, and answers a block inside as
    `on_block` does.
    """

    def plain(agent, call_next):
        try:
            return call_next(msg="something else")
        except HookBlocked:
            return on_block()

    async def awaiting(agent, call_next):
        try:
            return await call_next(msg="something else")
        except HookBlocked:
            return on_block()

    def looping(agent, call_next):
        try:
            yield from call_next(msg="something else")
        except HookBlocked:
            yield on_block()

    async def async_looping(agent, call_next):
        try:
            async for item in call_next(msg="something else"):
                yield item
        except HookBlocked:
            yield on_block()

    return {
        "sync": plain,
        "async": awaiting,
        "generator": looping,
        "async_generator": async_looping,
    }[colour]


def returns_something():
    return "got round it"


def raises_its_own():
    raise ValueError("instead of the block")


@pytest.mark.parametrize("on_block", [returns_something, raises_its_own])
@pytest.mark.parametrize("colour", TARGETS)
def test_an_around_that_hides_the_block_of_a_guard_asked_again_hides_nothing(
    bus, agent, colour, told, on_block
):
    bus.signal("pre_reply").connect(only_hello, role="guard", name="only hello")
    bus.signal("around_reply").connect(around(colour, on_block))
    bus.signal("error_reply").connect(lambda agent: Replace(["rescued"]))
    with pytest.raises(HookBlocked) as blocked:
        take(colour, agent, "hello")
    assert blocked.value.receiver == "only hello"
    assert [finished.outcome for finished in told(events.Finished)] == ["blocked"]
    assert len(told(events.Blocked)) == 1


@pytest.mark.parametrize("colour", STREAMS)
def test_no_item_leaves_an_around_that_hides_a_block(bus, agent, colour):
    bus.signal("pre_reply").connect(only_hello, role="guard")
    bus.signal("around_reply").connect(around(colour, returns_something))
    with pytest.raises(HookBlocked):
        first_of(colour, agent.reply("hello"))


def first_of(colour, stream):
    return next(stream) if colour == "generator" else asyncio.run(_first_of(stream))


async def _first_of(stream):
    return await anext(stream)


class Interrupt(BaseException):
    """A KeyboardInterrupt that does not stop the tests."""


def interrupts():
    raise Interrupt


@pytest.mark.parametrize("colour", TARGETS)
def test_an_interrupt_goes_out_also_where_the_call_is_blocked(bus, agent, colour, told):
    bus.signal("pre_reply").connect(only_hello, role="guard")
    bus.signal("around_reply").connect(around(colour, interrupts))
    with pytest.raises(Interrupt):
        take(colour, agent, "hello")
    assert [failed.action for failed in told(events.Failed)] == ["raised"]
    assert [finished.outcome for finished in told(events.Finished)] == ["raised"]


def interrupted_in_cleanup(colour, bus):
    """Return an agent whose stream is interrupted while it is closed."""

    class Generator:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            try:
                yield msg
            finally:
                raise Interrupt

    class AsyncGenerator:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            try:
                yield msg
            finally:
                raise Interrupt

    return Generator() if colour == "generator" else AsyncGenerator()


@pytest.mark.parametrize("colour", STREAMS)
def test_an_interrupt_goes_out_also_where_a_blocked_stream_is_closed(bus, colour, told):
    bus.signal("item_reply").connect(lambda agent: Block("no"), role="guard")
    with pytest.raises(Interrupt):
        take(colour, interrupted_in_cleanup(colour, bus), "hello")
    assert [finished.outcome for finished in told(events.Finished)] == ["raised"]


@pytest.mark.parametrize("arounds", [1, 2])
@pytest.mark.parametrize("colour", STREAMS)
def test_an_interrupt_of_the_method_is_no_failure_of_arounds_that_are_closed_by_a_block(
    bus, colour, told, arounds
):
    for _ in range(arounds):
        bus.signal("around_reply").connect(around(colour, lambda: None))
    bus.signal("item_reply").connect(lambda agent: Block("no"), role="guard")
    with pytest.raises(Interrupt):
        take(colour, interrupted_in_cleanup(colour, bus), "hello")
    assert [finished.outcome for finished in told(events.Finished)] == ["raised"]
    assert not told(events.Failed)


@pytest.mark.parametrize("colour", STREAMS)
def test_an_around_that_interrupts_where_its_blocked_stream_is_closed_has_failed_and_only_that_one(
    bus, agent, colour, told
):
    def outer(agent, call_next):
        yield from call_next()

    def inner(agent, call_next):
        try:
            yield from call_next()
        finally:
            raise Interrupt

    async def async_outer(agent, call_next):
        async for item in call_next():
            yield item

    async def async_inner(agent, call_next):
        try:
            async for item in call_next():
                yield item
        finally:
            raise Interrupt

    first, second = (outer, inner) if colour == "generator" else (async_outer, async_inner)
    bus.signal("around_reply").connect(first, name="outer")
    bus.signal("around_reply").connect(second, name="inner")
    bus.signal("item_reply").connect(lambda agent: Block("no"), role="guard")
    with pytest.raises(Interrupt):
        take(colour, agent, "hello")
    assert [(failed.receiver, failed.action) for failed in told(events.Failed)] == [
        ("inner", "raised")
    ]
    assert [finished.outcome for finished in told(events.Finished)] == ["raised"]


@pytest.mark.parametrize("colour", STREAMS)
def test_an_interrupt_goes_out_also_where_an_around_left_the_stream_open(bus, colour):
    def first(agent, call_next):
        yield next(call_next())

    async def async_first(agent, call_next):
        yield await anext(call_next())

    bus.signal("around_reply").connect(first if colour == "generator" else async_first)
    with pytest.raises(Interrupt):
        take(colour, interrupted_in_cleanup(colour, bus), "hello")


async def test_a_cancellation_goes_out_also_where_the_call_is_blocked(bus, told):
    agent, waiting = make_agent(bus, "async"), asyncio.Event()

    async def hide(agent, call_next):
        try:
            return await call_next(msg="something else")
        except HookBlocked:
            waiting.set()
            await asyncio.Event().wait()

    bus.signal("pre_reply").connect(only_hello, role="guard")
    bus.signal("around_reply").connect(hide)
    task = asyncio.ensure_future(agent.reply("hello"))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]


def test_what_is_thrown_into_a_blocked_stream_at_its_last_item_comes_out(bus, told):
    agent = make_agent(bus, "generator")
    bus.signal("pre_reply").connect(lambda agent: Block("no", result="sorry"), role="guard")
    stream = agent.reply("hello")
    assert next(stream) == "sorry"
    with pytest.raises(ZeroDivisionError):
        stream.throw(ZeroDivisionError())
    assert [finished.outcome for finished in told(events.Finished)] == ["blocked"]


@pytest.mark.parametrize("colour", TARGETS)
def test_nobody_is_asked_after_a_block_and_nobody_lifts_it(bus, agent, colour):
    asked = []

    def lifts(name):
        def receiver(agent, ctx):
            asked.append((name, ctx.outcome))
            return Replace(["lifted"])

        return (lambda agent, call_next: asked.append(name)) if name == "around" else receiver

    bus.signal("pre_reply").connect(lambda agent: Block("no"), role="guard", priority=1)
    bus.signal("pre_reply").connect(lifts("guard"), role="guard")
    bus.signal("pre_reply").connect(lifts("observer"), role="observe")
    for phase in ("around", "post", "error", "finally"):
        bus.signal(f"{phase}_reply").connect(lifts(phase))
    with pytest.raises(HookBlocked):
        take(colour, agent, "hello")
    assert asked == [("finally", "blocked")]


def keeps(kept, colour):
    """Return an around that runs nothing inside and keeps its `call_next`."""

    def keep(agent, call_next):
        kept.append(call_next)
        return "instead"

    def keep_stream(agent, call_next):
        yield keep(agent, call_next)

    async def keep_async_stream(agent, call_next):
        yield keep(agent, call_next)

    return {"generator": keep_stream, "async_generator": keep_async_stream}.get(colour, keep)


@pytest.mark.parametrize("colour", TARGETS)
def test_call_next_is_of_no_use_after_its_around_has_ended(bus, agent, colour):
    kept = []
    bus.signal("around_reply").connect(keeps(kept, colour))
    assert take(colour, agent, "hello") == "instead"
    with pytest.raises(HookError):
        late = kept[0]()  # does nothing before it is awaited or pulled
        if colour == "generator":
            next(late)
        elif colour != "sync":
            asyncio.run(anext(late) if colour == "async_generator" else late)


async def test_a_coroutine_taken_from_call_next_is_of_no_use_after_its_around_has_ended(bus):
    kept, bodies = [], []

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            bodies.append(1)

    def keep(agent, call_next):
        kept.append(call_next())
        return "instead"

    bus.signal("around_reply").connect(keep)
    assert await Agent().reply() == "instead"
    with pytest.raises(HookError):
        await kept[0]
    assert not bodies


@pytest.mark.parametrize("colour", STREAMS)
def test_a_stream_taken_from_call_next_is_of_no_use_after_its_around_has_ended(bus, colour):
    kept, bodies = [], []

    class Agent:
        @hookable("generator", bus=bus)
        def generator(self):
            bodies.append(1)
            yield 1

        @hookable("async_generator", bus=bus)
        async def async_generator(self):
            bodies.append(1)
            yield 1

    def keep(agent, call_next):
        kept.append(call_next())
        yield "instead"

    async def keep_async(agent, call_next):
        kept.append(call_next())
        yield "instead"

    bus.signal(f"around_{colour}").connect(keep if colour == "generator" else keep_async)
    if colour == "generator":
        assert list(Agent().generator()) == ["instead"]
        list(kept[0])
    else:
        asyncio.run(_drain_then_drain_the_kept(Agent().async_generator(), kept))
    assert not bodies


async def _drain_then_drain_the_kept(stream, kept):
    assert [item async for item in stream] == ["instead"]
    assert [item async for item in kept[0]] == []
