"""A call that streams, item by item."""

import pytest

from hookbus import Block, Drop, HookBlocked, Replace, hookable


def test_items_are_changed_dropped_and_guarded_before_they_leave(bus, tokens, ran):
    bus.signal("item_tokens").connect(lambda f, item: Drop() if item == 1 else item * 10)
    bus.signal("item_tokens").connect(lambda f, item: ran.append(("guard", item)), role="guard")
    assert list(tokens(3)) == [0, 20]
    assert ran == [("guard", 0), ("guard", 20), "closed"]


def test_a_blocked_item_ends_the_stream_and_closes_the_method(bus, tokens, ran):
    bus.signal("item_tokens").connect(
        lambda f, item: Block("enough") if item == 2 else None, role="guard"
    )
    got = []
    with pytest.raises(HookBlocked, match="enough"):
        for item in tokens(9):
            got.append(item)
    assert got == [0, 1] and ran == ["closed"]


def test_a_block_with_a_result_yields_it_last(bus, tokens, ran):
    bus.signal("item_tokens").connect(
        lambda f, item: Block("enough", result="cut") if item == 1 else None
    )
    assert list(tokens(9)) == [0, "cut"]
    bus.signal("pre_tokens").connect(lambda f: Block("not at all", result="nothing"), role="guard")
    assert list(tokens(9)) == ["nothing"]


def test_post_sees_what_a_generator_returned_and_may_change_it(bus, tokens):
    bus.signal("post_tokens").connect(lambda f, result: result.upper())

    def consume():
        return (yield from tokens(1))

    stream = consume()
    assert next(stream) == 0
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == "DONE"


def test_a_consumer_that_leaves_early_closes_the_method_and_finally_still_runs(bus, tokens, ran):
    bus.signal("post_tokens").connect(lambda f: ran.append("post"))
    bus.signal("finally_tokens").connect(lambda f, ctx: ran.append(ctx.outcome))
    stream = tokens(9)
    next(stream)
    stream.close()
    assert ran == ["closed", "cancelled"]


async def test_a_method_that_ends_quietly_as_its_stream_is_left_has_not_returned(bus, ran):
    class Agent:
        @hookable("tokens", bus=bus)
        def tokens(self):
            try:
                yield 1
            except GeneratorExit:
                return

        @hookable("tokens", bus=bus)
        async def later(self):
            try:
                yield 1
            except GeneratorExit:
                return

    bus.signal("post_tokens").connect(lambda a: ran.append("post"), role="observe")
    bus.signal("finally_tokens").connect(lambda a, ctx: ran.append(ctx.outcome))
    stream, later = Agent().tokens(), Agent().later()
    assert next(stream) == await anext(later) == 1
    stream.close()
    await later.aclose()
    assert ran == ["cancelled", "cancelled"]


def test_send_and_throw_reach_the_method(bus, tokens, ran):
    bus.signal("item_tokens").connect(lambda f, item: None)
    stream = tokens(3)
    next(stream)
    stream.send("hello")
    with pytest.raises(KeyError):
        stream.throw(KeyError("thrown"))
    assert ran == [("sent", "hello"), "closed"]


def test_an_around_of_a_stream_is_a_generator_and_item_receivers_see_what_leaves_it(
    bus, tokens, ran
):
    def around(f, call_next):
        for item in call_next():
            yield item + 100
        yield "extra"

    bus.signal("around_tokens").connect(around)
    bus.signal("item_tokens").connect(lambda f, item: ran.append(item), role="observe")
    assert list(tokens(2)) == [100, 101, "extra"]
    assert ran == [100, "closed", 101, "extra"] or ran == [100, 101, "closed", "extra"]


async def test_what_is_thrown_into_a_stream_goes_in_once_and_the_stream_goes_on(bus):
    class Agent:
        @hookable("tokens", bus=bus)
        def tokens(self):
            for item in "abcd":
                try:
                    yield item
                except KeyError:
                    yield "caught"

        @hookable("tokens", bus=bus)
        async def later(self):
            for item in "abcd":
                try:
                    yield item
                except KeyError:
                    yield "caught"

    bus.signal("item_tokens").connect(lambda a, item: item.upper())
    stream, later = Agent().tokens(), Agent().later()
    assert [next(stream), stream.throw(KeyError()), *stream] == ["A", "CAUGHT", "B", "C", "D"]
    assert [await anext(later), await later.athrow(KeyError())] == ["A", "CAUGHT"]
    assert [item async for item in later] == ["B", "C", "D"]


@pytest.mark.parametrize("phase", ["pre", "error"])
async def test_an_async_stream_may_be_replaced_by_items_of_every_kind(bus, phase):
    class Agent:
        @hookable("tokens", bus=bus)
        async def tokens(self):
            yield "first"
            raise LookupError

    async def later():
        for item in "ab":
            yield item

    given = []
    bus.signal(f"{phase}_tokens").connect(lambda a: Replace(given.pop()))
    for items in (["a", "b"], (item for item in "ab"), later()):
        given.append(items)
        got = [item async for item in Agent().tokens()]
        assert got == (["a", "b"] if phase == "pre" else ["first", "a", "b"])
