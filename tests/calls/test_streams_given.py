"""A stream that was replaced, rescued, told or left: what it gives, and how it ends."""

import pytest

from hookbus import Replace, events, hookable


def test_a_stream_that_an_around_made_up_was_replaced_and_one_it_passed_on_returned(bus, tokens):
    def around(f, n, call_next):
        if n:
            return (yield from call_next())
        yield "mine"

    outcomes = []
    bus.signal("around_tokens").connect(around)
    bus.signal("finally_tokens").connect(lambda f, ctx: outcomes.append(ctx.outcome))
    assert list(tokens(0)) == ["mine"] and list(tokens(1)) == [0]
    assert outcomes == ["replaced", "returned"]


def test_an_around_of_a_stream_that_is_not_asked_is_passed_through(bus, tokens, ran):
    def around(f, call_next):
        yield "never"

    bus.signal("around_tokens").connect(around, when={"n": "9"})
    assert list(tokens(2)) == [0, 1] and ran == ["closed"]


def test_who_looks_at_a_failure_sees_the_arguments_that_an_around_patched(bus, agent, tokens):
    def around(f, call_next):
        yield from call_next(n=1)
        raise LookupError

    seen = []
    bus.signal("around_tokens").connect(around)
    bus.signal("error_tokens").connect(lambda f, n: seen.append(n))
    with pytest.raises(LookupError):
        list(tokens(3))
    bus.signal("around_reply").connect(lambda a, call_next: call_next(msg="raise"))
    bus.signal("error_reply").connect(lambda a, msg: seen.append(msg))
    with pytest.raises(LookupError):
        agent.reply("a")
    assert seen == [1, "raise"]


def test_what_has_no_items_is_given_instead_of_no_stream(bus, tokens):
    bus.signal("pre_tokens").connect(lambda f: Replace(7))
    assert list(tokens(1)) == [0]

    def breaks(f, call_next):
        yield from call_next()
        raise LookupError("the first")

    bus.signal("around_tokens").connect(breaks)
    bus.signal("error_tokens").connect(lambda f: Replace(7))
    with pytest.raises(LookupError, match="the first"):
        list(tokens(1))


@pytest.mark.parametrize("phase", ["pre", "error"])
def test_nobody_rescues_what_was_given_instead_of_a_stream(bus, tokens, phase):
    rescued = []

    def instead():
        yield "instead"
        raise KeyError("given instead")

    def rescue(f, error):
        rescued.append(type(error))
        return Replace(instead()) if len(rescued) < 3 else None

    def breaks(f, call_next):
        yield from call_next()
        raise LookupError

    if phase == "pre":
        bus.signal("pre_tokens").connect(lambda f: Replace(instead()))
    bus.signal("around_tokens").connect(breaks)
    bus.signal("error_tokens").connect(rescue)
    with pytest.raises(KeyError, match="given instead"):
        list(tokens(0))
    assert rescued == ([LookupError] if phase == "error" else [])


def test_replace_and_a_rescue_of_a_stream_give_their_items(bus, ran):
    @hookable("tokens", bus=bus)
    def tokens():
        yield 1
        raise LookupError

    bus.signal("item_tokens").connect(lambda f, item: item * 10)
    bus.signal("error_tokens").connect(lambda f, error: Replace([2, 3]))
    assert list(tokens()) == [10, 20, 30]
    bus.signal("pre_tokens").connect(lambda f: Replace(iter([7])))
    assert list(tokens()) == [70]


async def test_an_async_stream_is_told_as_a_sync_one(bus, ran):
    class Agent:
        @hookable("tokens", bus=bus)
        async def tokens(self, n):
            try:
                for i in range(n):
                    yield i
            finally:
                ran.append("closed")

    async def around(a, call_next):
        async for item in call_next():
            yield item + 1

    async def double(a, item):
        return item * 2

    bus.signal("around_tokens").connect(around)
    bus.signal("item_tokens").connect(double)
    bus.signal("finally_tokens").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert [item async for item in Agent().tokens(3)] == [2, 4, 6]
    stream = Agent().tokens(9)
    assert await anext(stream) == 2
    await stream.aclose()
    assert ran == ["closed", "returned", "closed", "cancelled"]


async def test_a_coroutine_that_is_closed_half_way_still_ends_as_cancelled(bus, ran):
    class Pause:
        def __await__(self):
            yield

    @hookable("reply", bus=bus)
    async def reply():
        try:
            await Pause()
        finally:
            ran.append("closed")

    async def later(f):
        ran.append("never: nothing can be awaited any more")

    bus.events.connect(
        lambda bus, event: ran.append(event.outcome) if isinstance(event, events.Finished) else None
    )
    bus.signal("finally_reply").connect(lambda f, ctx: ran.append("observed"), name="sync")
    bus.signal("finally_reply").connect(later, name="async")
    call = reply()
    call.send(None)
    call.close()
    assert ran == ["closed", "observed", "cancelled"]


def test_an_abandoned_stream_in_a_circle_still_tells_its_end(bus, tokens, ran):
    import gc

    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("finally_tokens").connect(lambda f, ctx: ran.append(ctx.outcome))
    stream = tokens(9)
    next(stream)
    circle = [stream]
    circle.append(circle)
    del stream, circle
    gc.collect()
    assert [event.outcome for event in told if isinstance(event, events.Finished)] == ["cancelled"]
    assert sorted(ran) == ["cancelled", "closed"]
