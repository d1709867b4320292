"""A stream whose last item holds its result as a whole, as an adapter's streamed model does."""

import asyncio

import pytest

from hookbus import Block, Replace, events, hookable


class Whole:
    """What a stream yields last: its result, which is not an item to the reader."""

    def __init__(self, value):
        self.value = value


class Speaker:
    def __init__(self, bus, kind):
        self.fails, self.is_async = False, kind == "async"

        def speak(text):
            yield from text.split()
            if self.fails:
                raise LookupError("lost")
            yield Whole(text)

        async def speak_async(text):
            for word in speak(text):
                yield word

        body = speak_async if self.is_async else speak
        body.__hookbus_whole__ = Whole
        self.speak = hookable("speak", bus=bus)(body)

    def read(self, text="one two", most=9):
        """Return what a reader gets, at most so many items."""

        async def main():
            found, stream = [], self.speak(text)
            async for item in stream:
                found.append(item)
                if len(found) == most:
                    break
            await stream.aclose()
            return found

        if self.is_async:
            return asyncio.run(main())
        stream = self.speak(text)
        found = [item for item, _ in zip(stream, range(most), strict=False)]
        stream.close()
        return found


@pytest.fixture(params=["sync", "async"])
def speaker(request, bus):
    return Speaker(bus, request.param)


@pytest.fixture
def ends(bus):
    """What observers of `post` and `finally` are given as the result, and how the call ended."""
    ends = []
    bus.signal("post_speak").connect(lambda f, result: ends.append(result), role="observe")
    bus.signal("finally_speak").connect(lambda f, ctx, result: ends.append((ctx.outcome, result)))
    return ends


def test_the_reader_gets_the_items_and_observers_the_result_as_a_whole(speaker, ends):
    assert speaker.read() == ["one", "two"]
    assert ends == ["one two", ("returned", "one two")]


def test_receivers_of_items_do_not_see_the_result(speaker, bus, ends):
    seen = []
    bus.signal("item_speak").connect(lambda f, item: seen.append(item) or item.upper())
    assert speaker.read() == ["ONE", "TWO"]
    assert seen == ["one", "two"] and ends == ["one two", ("returned", "one two")]


def test_the_result_goes_through_arounds_that_pass_items_on(speaker, bus, ends):
    def around(f, call_next):
        yield from call_next()

    async def around_async(f, call_next):
        async for item in call_next():
            yield item

    for _ in range(2):
        bus.signal("around_speak").connect(around_async if speaker.is_async else around)
    assert speaker.read() == ["one", "two"]
    assert ends == ["one two", ("returned", "one two")]


def test_a_stream_that_is_left_or_fails_has_no_result(speaker, bus):
    ends = []
    bus.signal("finally_speak").connect(lambda f, ctx, result: ends.append((ctx.outcome, result)))
    assert speaker.read(most=1) == ["one"]
    speaker.fails = True
    with pytest.raises(LookupError, match="lost"):
        speaker.read()
    assert ends == [("cancelled", None), ("raised", None)]


def test_what_replaces_the_result_is_the_one_item_and_no_iterable_of_items(speaker, bus, ends):
    bus.signal("pre_speak").connect(lambda f: Replace("a b"))
    assert speaker.read() == ["a b"]
    assert ends == ["a b", ("replaced", "a b")]


def test_a_rescue_gives_its_result_as_one_item_after_what_has_left(speaker, bus, ends):
    speaker.fails = True
    bus.signal("error_speak").connect(lambda f, error: Replace(7))
    assert speaker.read() == ["one", "two", 7]
    assert ends == [7, ("replaced", 7)]


def test_a_block_with_a_result_gives_it_as_the_last_item(speaker, bus):
    bus.signal("pre_speak").connect(lambda f: Block("no", result="not now"), role="guard")
    assert speaker.read() == ["not now"]


def test_the_result_is_in_events_with_values(speaker, bus):
    bus.values = True
    told = []
    bus.events.connect(lambda bus, event: told.append(event.result), kinds=(events.Finished,))
    assert speaker.read() == ["one", "two"] and told == ["one two"]
