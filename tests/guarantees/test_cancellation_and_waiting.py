"""Whom a call waits for, and what ends the waiting: a cancel, a deadline, a timeout of one's own
(G23, G24, G25).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from hookbus import HookBlocked, events

from ._waiting import Agent, Hung, connect, settle, telling


@pytest.fixture
def told():
    with telling(Agent.bus) as told:
        yield told


async def test_a_second_cancel_ends_the_waiting_for_an_observer_that_hangs(told):
    agent, hung, other = Agent(), Hung(), []
    connect(agent, "finally_hang", hung)
    connect(agent, "finally_hang", lambda agent, ctx: other.append(ctx.outcome))
    call = asyncio.create_task(agent.hang())
    await settle()
    call.cancel()
    await asyncio.wait_for(hung.started.wait(), 10)
    assert not call.done()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(call), 10)
    assert hung.is_over
    assert other == ["cancelled"]
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_deadline_of_an_observer_ends_the_waiting_after_a_cancel(told):
    agent, hung = Agent(), Hung()
    connect(agent, "finally_hang", hung, timeout=0.03)
    call = asyncio.create_task(agent.hang())
    await settle()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(call), 10)
    assert hung.is_over
    assert [failed.phase for failed in told(events.Failed)] == ["finally"]
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]


@pytest.mark.parametrize("phase", ["pre", "post", "error", "finally"])
@pytest.mark.parametrize("breaks", [ValueError, asyncio.CancelledError])
async def test_observers_side_by_side_have_all_settled_before_the_call_goes_on(phase, breaks):
    agent, trace = Agent(), []

    def observer(steps):
        async def observe(agent):
            for _ in range(steps):
                await asyncio.sleep(0)
            trace.append(steps)
            if steps == 2:
                raise breaks

        return observe

    for steps in (5, 1, 9, 2, 3):
        connect(agent, f"{phase}_reply", observer(steps), role="observe")
    connect(agent, "around_reply", around_that(trace, fails=phase == "error"))
    with contextlib.suppress(ValueError):
        await agent.reply()
    trace.append("over")
    assert sorted(step for step in trace if isinstance(step, int)) == [1, 2, 3, 5, 9]
    assert trace.index("around") == (5 if phase == "pre" else 0)
    assert trace[-1] == "over"


async def cancelled_while_somebody_waits(agent, is_patient):
    """Make calls, and one more in which receivers wait for ever, and cancel that; return it."""
    for _ in range(1):
        await agent.reply()
    is_patient.append(True)
    call = asyncio.create_task(agent.reply())
    await settle()
    call.cancel()
    return call


async def test_observers_side_by_side_are_cancelled_in_their_order():
    agent, is_patient, cancelled = Agent(), [], []

    def observer(number):
        async def observe(agent):
            try:
                if is_patient:
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        return observe

    for number in range(20):
        connect(agent, "pre_reply", observer(number), role="observe")
    call = await cancelled_while_somebody_waits(agent, is_patient)
    await asyncio.wait({call})
    assert cancelled == [*range(20)]


def around_that(trace, fails):
    async def around(agent, call_next):
        trace.append("around")
        if fails:
            raise ValueError
        return await call_next()

    return around


async def test_a_call_made_while_cleaning_up_after_a_cancel_is_a_call_like_any_other(told):
    agent = Agent()
    asked = []
    connect(agent, "pre_reply", lambda agent: asked.append("guard"), role="guard")

    async def works_and_cleans_up():
        try:
            await agent.hang()
        except asyncio.CancelledError:
            return await agent.reply(wait=2)

    task = asyncio.create_task(works_and_cleans_up())
    await settle()
    task.cancel()
    assert await task == "result"
    assert asked == ["guard"]


async def test_a_timeout_of_the_caller_ends_the_call_as_cancelled(told):
    agent = Agent()
    connect(agent, "pre_reply", Hung(), role="guard")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.03):
            await agent.reply()
    assert agent.bodies == 0
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]
    assert not told(events.Blocked)


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
async def test_a_timeout_inside_a_receiver_is_no_cancel_of_the_caller(told, role):
    agent, hung = Agent(), Hung()

    async def patient_enough(agent):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await hung(agent)

    connect(agent, "pre_reply", patient_enough, role=role)
    assert await agent.reply() == "result"
    assert not told(events.Failed)


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
async def test_a_cancel_goes_through_while_a_worker_thread_is_busy(told, role):
    agent, started, released, left = (
        Agent(),
        threading.Event(),
        threading.Event(),
        threading.Event(),
    )

    def busy(agent):
        started.set()
        released.wait(30)
        left.set()

    connect(agent, "pre_reply", busy, role=role, timeout=60.0)
    call = asyncio.create_task(agent.reply())
    await asyncio.to_thread(started.wait, 30)
    call.cancel()
    await asyncio.wait({call}, timeout=10)
    assert call.cancelled()
    released.set()
    await asyncio.to_thread(left.wait, 30)
    await settle()
    assert agent.bodies == 0
    assert [finished.outcome for finished in told(events.Finished)] == ["cancelled"]


async def test_a_cancel_after_a_block_changes_nothing_but_the_ending(told):
    agent, hung = Agent(), Hung()

    def no(agent):
        raise RuntimeError

    connect(agent, "pre_reply", no, role="guard")
    connect(agent, "finally_reply", hung)
    call = asyncio.create_task(agent.reply())
    await hung.started.wait()
    call.cancel()
    await settle()
    call.cancel()
    with pytest.raises((asyncio.CancelledError, HookBlocked)):
        await asyncio.wait_for(asyncio.shield(call), 10)
    assert agent.bodies == 0
    assert len(told(events.Finished)) == len(told(events.Blocked)) == 1
