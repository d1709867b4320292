"""Receivers of `around`."""

import asyncio

from ._told import Topic

TOPIC = Topic("Around", {})


def timing(agent, call_next):
    return call_next()


@TOPIC.mistake("`def timing(agent)` on `around_reply`: no `call_next`")
def an_around_without_call_next(bus, Agent):
    def timing(agent): ...

    bus.signal("around_reply").connect(timing, sender=Agent)


@TOPIC.mistake("`call_next()` without `return`")
def an_around_that_returns_nothing(bus, Agent):
    def timing(agent, call_next):
        call_next()

    bus.signal("around_reply").connect(timing, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`return call_next()` in an `async def`: no `await`")
def an_around_that_never_awaits(bus, Agent):
    async def timing(agent, call_next):
        return call_next()

    bus.signal("around_fetch").connect(timing, sender=Agent)
    return lambda: asyncio.run(Agent().fetch("a"))


@TOPIC.mistake("`call_next(mesg=...)`: a typo")
def an_around_with_a_typo_in_its_patch(bus, Agent):
    def louder(agent, msg, call_next):
        return call_next(mesg=msg.upper())

    bus.signal("around_reply").connect(louder, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake('`ctx.kwargs["msg"] = ...` in an `around`')
def an_around_that_writes(bus, Agent):
    def louder(agent, ctx, call_next):
        ctx.kwargs["msg"] = "HI"
        return call_next()

    bus.signal("around_reply").connect(louder, sender=Agent)
    return lambda: Agent().reply("hi")


@TOPIC.mistake("`timeout=2.0` on an `around`")
def an_around_with_a_deadline(bus, Agent):
    bus.signal("around_reply").connect(timing, sender=Agent, timeout=2.0)


@TOPIC.mistake("`call_next` stored, and called after the `around` has returned")
def an_around_that_is_over(bus, Agent):
    kept = []

    def later(agent, call_next):
        kept.append(call_next)
        return call_next()

    bus.signal("around_reply").connect(later, sender=Agent)
    Agent().reply("hi")
    return lambda: kept[0]()


@TOPIC.mistake("`async def timing(...)` around a sync `def reply`")
def an_async_around_of_a_plain_method(bus, Agent):
    async def timing(agent, call_next):
        return call_next()

    bus.signal("around_reply").connect(timing, sender=Agent)


@TOPIC.mistake("`around_tokens` without `yield from call_next()`")
def an_around_of_a_stream_that_is_no_generator(bus, Agent):
    def timing(agent, call_next):
        call_next()

    bus.signal("around_tokens").connect(timing, sender=Agent)
    return lambda: list(Agent().tokens(3))
