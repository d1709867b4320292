"""The span of a stream is the current one while its body runs, and never for its reader."""

import asyncio
import contextvars
import gc

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider

from hookbus import Block, Bus, Drop, exporters, hookable


def current():
    """Return the name of the current span, None where there is none."""
    return getattr(trace.get_current_span(), "name", None)


@pytest.fixture
def tracer():
    return TracerProvider(shutdown_on_exit=False).get_tracer("others")


@pytest.fixture(autouse=True)
def left_as_it_was():
    before = context.get_current()
    yield
    assert context.get_current() is before


@pytest.fixture
def bus():
    bus = Bus()
    exporter = exporters.otel.OpenTelemetry(TracerProvider(shutdown_on_exit=False))
    bus.events.connect(exporter)
    yield bus
    exporter.close()


@pytest.fixture
def seen():
    """What was current in bodies."""
    return []


@pytest.fixture
def tokens(bus, seen):
    @hookable("tokens", bus=bus)
    def tokens(count=3):
        try:
            for i in range(count):
                seen.append(current())
                yield i
        finally:
            seen.append(current())

    return tokens


@pytest.fixture
def tokens_async(bus, seen):
    @hookable("tokens_async", bus=bus)
    async def tokens_async(count=3):
        try:
            for i in range(count):
                seen.append(current())
                await asyncio.sleep(0)
                yield i
        finally:
            seen.append(current())

    return tokens_async


def test_the_reader_has_its_own_span_between_the_items_and_after_the_last(tokens, seen, tracer):
    for _ in tokens():
        assert current() is None
    assert current() is None and seen == ["tokens"] * 4
    with tracer.start_as_current_span("reader"):
        for _ in tokens():
            assert current() == "reader"
        assert current() == "reader"
    assert current() is None and seen == ["tokens"] * 8


def test_the_reader_has_its_own_span_after_a_break_while_the_stream_is_kept(tokens, seen):
    kept = tokens()
    for _ in kept:
        break
    assert current() is None and seen == ["tokens"]
    kept.close()
    assert current() is None and seen == ["tokens"] * 2


async def test_the_same_in_async_streams_however_they_end(tokens_async, seen, tracer):
    with tracer.start_as_current_span("reader"):
        async for _ in tokens_async():
            assert current() == "reader"
        kept = tokens_async()
        async for _ in kept:
            break
        assert current() == "reader"
        await kept.aclose()
        assert current() == "reader"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(tokens_async())
        assert current() == "reader"
    assert current() is None and set(seen) == {"tokens_async"}


def test_the_same_where_something_is_raised_into_the_stream_or_out_of_it(bus, seen, tracer):
    @hookable("fragile", bus=bus)
    def fragile():
        try:
            yield 1
        except KeyError:
            seen.append(current())
            yield 2
        raise LookupError

    with tracer.start_as_current_span("reader"):
        stream = fragile()
        next(stream)
        assert stream.throw(KeyError()) == 2 and current() == "reader"
        with pytest.raises(LookupError):
            next(stream)
        assert current() == "reader" and seen == ["fragile"]


def test_the_same_where_receivers_drop_block_or_stand_around(bus, tokens, seen, tracer):
    def around(_, call_next):
        seen.append(current())
        yield from call_next()

    bus.signal("around_tokens").connect(around)
    bus.signal("item_tokens").connect(
        lambda _, item: Drop() if item == 0 else Block("no", result="end") if item == 2 else None
    )
    with tracer.start_as_current_span("reader"):
        read = [(item, current()) for item in tokens()]
        assert read == [(1, "reader"), ("end", "reader")] and current() == "reader"
        stream = tokens()
        assert [next(stream), next(stream)] == [1, "end"]
        with tracer.start_as_current_span("later"):
            assert next(stream, None) is None and current() == "later"
    assert set(seen) == {"tokens"}


def test_a_reader_may_have_another_span_for_each_item(tokens, seen, tracer):
    stream = tokens()
    with tracer.start_as_current_span("first"):
        next(stream)
        assert current() == "first"
    assert current() is None
    with tracer.start_as_current_span("second"):
        next(stream)
        assert current() == "second"
        list(stream)
        assert current() == "second"
    assert current() is None and set(seen) == {"tokens"}


def test_spans_that_a_body_keeps_open_over_an_item_are_its_own(bus, tracer):
    @hookable("outer", bus=bus)
    def outer():
        with tracer.start_as_current_span("http"):
            yield current()
            yield current()
        yield current()

    with tracer.start_as_current_span("reader"):
        read = [(item, current()) for item in outer()]
    assert read == [("http", "reader"), ("http", "reader"), ("outer", "reader")]


def test_a_stream_in_a_stream_is_current_only_inside_of_it(bus, tokens, seen):
    @hookable("outer", bus=bus)
    def outer():
        for item in tokens():
            seen.append(current())
            yield item
        yield from tokens()
        seen.append(current())

    for _ in outer():
        assert current() is None
    assert seen == ["tokens", "outer"] * 3 + ["tokens"] * 5 + ["outer"]


def test_streams_read_by_turns_have_each_its_own_span(bus, tokens, seen):
    first, second = tokens(2), tokens(2)
    for stream in (first, second, first, second):
        next(stream)
        assert current() is None
    first.close()
    second.close()
    assert current() is None and set(seen) == {"tokens"}


def test_a_stream_read_in_other_contexts_leaves_each_as_it_was(tokens, seen, tracer):
    stream = tokens()
    next(stream)

    def read():
        with tracer.start_as_current_span("elsewhere"):
            next(stream)
            assert current() == "elsewhere"
        assert current() is None

    contextvars.Context().run(read)
    assert current() is None
    contextvars.copy_context().run(lambda: (list(stream), [current()]) == ([2], [None]) or 1 / 0)
    assert current() is None and set(seen) == {"tokens"}


async def test_an_async_stream_read_in_a_task_for_each_item_leaves_each_as_it_was(
    tokens_async, seen, tracer
):
    stream = tokens_async()

    async def read(name):
        with tracer.start_as_current_span(name):
            await anext(stream)
            return current()

    for name in ("one", "two"):
        assert await asyncio.create_task(read(name)) == name
    assert current() is None
    async for _ in stream:
        break
    await stream.aclose()
    assert current() is None and set(seen) == {"tokens_async"}


def test_a_stream_that_is_thrown_away_leaves_its_collector_as_it_was(tokens, seen, tracer):
    stream = tokens()
    next(stream)
    with tracer.start_as_current_span("reader"):
        del stream
        gc.collect()
        assert current() == "reader"
    assert seen == ["tokens"] * 2


def test_the_same_holds_for_what_any_listener_sets_when_a_call_starts():
    bus, place = Bus(), contextvars.ContextVar("place", default="outside")
    bus.events.connect(lambda bus, event: place.set(event.hook))

    @hookable("tokens", bus=bus)
    def tokens():
        yield place.get()
        yield place.get()

    assert [(item, place.get()) for item in tokens()] == [("tokens", "outside")] * 2
    assert place.get() == "outside"
