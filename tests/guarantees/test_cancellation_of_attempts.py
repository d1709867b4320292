"""A cancel that meets an around, or the body in it: whose it is decides whether there is another attempt (G23)."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from hookbus import events

from ._waiting import Agent, Hung, connect, settle, telling


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


async def test_after_a_cancel_of_the_caller_there_is_no_further_attempt(told):
    agent = Agent()

    async def insists(agent, call_next):
        with contextlib.suppress(asyncio.CancelledError):
            return await call_next()
        return await call_next()

    connect(agent, "around_hang", insists)
    call = asyncio.create_task(agent.hang())
    await settle()
    call.cancel()
    await asyncio.wait({call}, timeout=10)
    assert call.cancelled()
    assert agent.bodies == 1
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]


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


async def test_an_around_that_swallows_a_cancel_starts_no_body(told):
    agent, hung = Agent(), Hung()

    async def swallows(agent, call_next):
        with contextlib.suppress(asyncio.CancelledError):
            await hung(agent)
        return await call_next()

    connect(agent, "around_reply", swallows)
    call = asyncio.create_task(agent.reply())
    await hung.started.wait()
    call.cancel()
    await asyncio.wait({call}, timeout=10)
    assert call.cancelled()
    assert agent.bodies == 0
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]
