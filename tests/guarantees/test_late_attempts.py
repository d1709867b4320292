"""What an around leaves behind does nothing any more, wherever it is taken up again."""

from __future__ import annotations

import asyncio

import pytest

from hookbus import Bus, HookError, hookable

from ._calm import Stage


async def test_an_around_that_goes_on_after_the_outermost_has_ended_asks_nobody_further_in():
    stage, is_left, go_on, left, late = Stage(), [], asyncio.Event(), [], []

    async def outermost(agent, call_next):
        if not is_left:
            return await call_next()
        left.append(asyncio.create_task(call_next()))
        await asyncio.sleep(0)
        return "at once"

    async def middle(agent, call_next):
        if is_left:
            await go_on.wait()
        return await call_next()

    async def innermost(agent, notes, call_next):
        notes.append("innermost")
        return await call_next()

    for priority, around in enumerate((innermost, middle, outermost)):
        stage.bus.signal("around_reply").connect(around, priority=priority)
    assert await stage.agent.reply([]) == ["innermost", "body"]
    is_left.append(True)
    notes = []
    assert await stage.agent.reply(notes) == "at once"
    go_on.set()
    (late,) = await asyncio.gather(*left, return_exceptions=True)
    assert isinstance(late, HookError)
    assert "after its around had ended" in str(late)
    assert notes == []


async def test_a_plain_call_in_a_cancelled_task_is_not_cancelled_itself():
    stage, is_armed = Stage(), []

    def around(agent, call_next):
        if is_armed:
            asyncio.current_task().cancel()
        return call_next()

    stage.bus.signal("around_think").connect(around)
    is_armed.append(True)
    assert stage.agent.think([]) == ["body"]
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    asyncio.current_task().uncancel()


def test_a_stream_that_an_around_has_not_pulled_before_it_ended_gives_nothing_and_runs_nothing():
    bus, ran, kept = Bus(), [], []

    class Agent:
        @hookable("tokens", bus=bus)
        def tokens(self):
            ran.append("body")
            yield "token"

    @bus.signal("around_tokens").connect_via(priority=1)
    def outer(agent, call_next):
        yield from call_next()
        yield from kept[0]

    @bus.signal("around_tokens").connect
    def inner(agent, call_next):
        kept.append(call_next())
        yield "mine"

    assert list(Agent().tokens()) == ["mine"]
    assert ran == []
