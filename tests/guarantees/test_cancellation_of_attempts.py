"""A cancel that meets an around, or the body in it: whose it is decides whether there is another
attempt (G23).
"""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from hookbus import Block, Bus, HookBlocked, events, hookable

from ._waiting import Agent, connect, settle, telling


@pytest.fixture
def told():
    with telling(Agent.bus) as told:
        yield told


async def test_a_timeout_inside_an_around_is_its_own_affair(told):
    agent = Agent()

    async def impatient(agent, call_next):
        async with asyncio.timeout(0.03):
            return await call_next()

    connect(agent, "around_hang", impatient)
    with pytest.raises(TimeoutError):
        await agent.hang()
    assert agent.bodies == 1
    assert [finished.outcome for finished in told(events.Finished)] == ["raised"]
    assert [failed.role for failed in told(events.Failed)] == ["around"]


async def within_a_timeout(call_next):
    async with asyncio.timeout(0.03):
        return await call_next()


async def in_a_task_of_its_own(call_next):
    return await asyncio.wait_for(call_next(), 0.03)


@pytest.mark.parametrize("attempt", [within_a_timeout, in_a_task_of_its_own])
async def test_an_around_that_gives_up_an_attempt_may_make_another(told, attempt):
    agent = Agent()

    async def retries(agent, call_next):
        with contextlib.suppress(TimeoutError):
            return await attempt(call_next)
        return await call_next()

    connect(agent, "around_patience", retries)
    assert await agent.patience(attempts=2) == "result"
    assert agent.bodies == 2
    assert [finished.outcome for finished in told(events.Finished)] == ["returned"]
    assert not told(events.Failed)


@pytest.mark.parametrize("is_watched", [False, True], ids=["no around", "around"])
async def test_a_body_that_swallows_a_cancel_does_so_as_it_would_bare(told, is_watched):
    """Agents answer an interruption this way; it is the receivers who may not swallow."""
    agent = Agent()
    connect(agent, "post_interrupted", lambda agent: None)
    if is_watched:
        connect(agent, "around_interrupted", passes_on)
    call = asyncio.create_task(agent.interrupted())
    await settle()
    call.cancel()
    assert await call == "interrupted"
    assert [finished.outcome for finished in told(events.Finished)] == ["returned"]


async def passes_on(agent, call_next):
    return await call_next()


def waiting_in(bus, where):
    """Return an agent in whose call somebody waits for ever, once `is_patient` is set: the method,
    or who is asked before it.
    """
    is_patient = asyncio.Event()

    async def waits(*given):
        if is_patient.is_set():
            await asyncio.Event().wait()

    class Impatient:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            if where == "the method":
                await waits()
            return msg

    async def inner(agent, call_next):
        await waits()
        return await call_next()

    async def asked_again(agent, msg):
        if msg == "patched":
            await waits()

    if where == "an inner around":
        bus.signal("around_reply").connect(inner)
    if where == "a guard asked again":
        bus.signal("pre_reply").connect(asked_again, role="guard")
    return Impatient(), is_patient


def patch_for(where):
    """Return the patch with which an around has the guards asked again, where that is what it is
    about.
    """
    return {"msg": "patched"} if "guard" in where else {}


EVERYWHERE = ["the method", "an inner around", "a guard asked again"]


@pytest.mark.parametrize("attempt", [within_a_timeout, in_a_task_of_its_own])
@pytest.mark.parametrize("where", EVERYWHERE)
async def test_an_around_may_give_up_an_attempt_wherever_that_waits(where, attempt):
    bus = Bus()
    agent, is_patient = waiting_in(bus, where)

    async def outer(agent, call_next):
        try:
            return await attempt(lambda: call_next(**patch_for(where)))
        except TimeoutError:
            return "too long"

    bus.signal("around_reply").connect(outer, priority=1)
    for _ in range(1):
        assert await agent.reply("hi") in ("hi", "patched")
    is_patient.set()
    with telling(bus) as told:
        assert await agent.reply("hi") == "too long"
        assert [finished.outcome for finished in told(events.Finished)] == ["replaced"]
        assert not told(events.Failed) and not told(events.Blocked)


async def test_a_block_inside_an_attempt_that_is_given_up_later_stands():
    bus, bodies = Bus(), []

    class Impatient:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            bodies.append(msg)

    async def outer(agent, call_next):
        try:
            async with asyncio.timeout(0.02):
                return await call_next(msg="bad")
        except (TimeoutError, HookBlocked):
            return await call_next()

    async def waits_after_the_block(agent, call_next):
        try:
            return await call_next()
        except HookBlocked:
            await asyncio.Event().wait()

    bus.signal("around_reply").connect(outer)
    bus.signal("around_reply").connect(waits_after_the_block)
    bus.signal("pre_reply").connect(
        lambda agent, msg: Block("no") if msg == "bad" else None, role="guard"
    )
    with pytest.raises(HookBlocked):
        await Impatient().reply("good")
    assert not bodies
