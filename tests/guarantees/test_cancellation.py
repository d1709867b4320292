"""Cancel a call at every step: the cancel goes through, no body starts, the record is complete
(G23, G24, G25).
"""

from __future__ import annotations

import asyncio
import itertools
import os

import pytest

from hookbus import Bus, events, hookable

from ._stepping import Play

STRIDE = 1 if "HOOKBUS_EXAMPLES" in os.environ else 3
"""Of every pair of steps, so many are left out in the short form."""

PLAYS = {
    "async": {},
    "async, failing body": {"body_fails": True},
    "stream": {"colour": "async_generator"},
    "stream, failing body": {"colour": "async_generator", "body_fails": True},
}


def undisturbed(options):
    play = Play(**options).run()
    play.caller.exception()
    return play


@pytest.mark.parametrize("options", PLAYS.values(), ids=PLAYS)
def test_a_cancel_at_any_step_goes_through_and_leaves_a_complete_record(options):
    whole = undisturbed(options)
    cancelled_at = set()
    for step in range(1, whole.steps + 1):
        play = Play(**options).run(step)
        assert_the_cancel_went_through(play)
        cancelled_at.add(play.where_cancelled())
    assert_every_place_was_tried(whole, cancelled_at)


def assert_the_cancel_went_through(play):
    at = play.trace.index("cancel")
    before, after = play.trace[:at], play.trace[at:]
    assert play.caller.cancelled(), play.trace
    assert "body:in" not in after
    assert not play.census
    if not before:
        assert not play.events
        assert after == ["cancel"]
        return
    assert_settled(play)
    for number in (1, 2):
        assert play.trace.count(f"finally observer {number}:in") == 1, play.trace
    assert [finished.outcome for finished in play.told(events.Finished)] == ["cancelled"]
    assert len(play.told(events.Started)) == 1
    assert isinstance(play.told(events.Finished)[0].error, asyncio.CancelledError | GeneratorExit)
    assert not play.told(events.Failed)


def assert_settled(play):
    """Whoever came in has left, the body before anybody heard of the end."""
    assert names(play.trace, ":in") == names(play.trace, ":out", ":cut"), play.trace
    leaves = [step for step in play.trace if step in ("body:out", "body:cut")]
    assert all(
        play.trace.index(leave) < play.trace.index("finally observer 1:in") for leave in leaves
    ), play.trace


def names(trace, *endings):
    return sorted(step.rpartition(":")[0] for step in trace if step.endswith(endings))


def assert_every_place_was_tried(whole, cancelled_at):
    tried = {step.rpartition(":")[0] for step in cancelled_at if step}
    # Of two observers that start in the same step, the second is the last one seen.
    assert {name for name in names(whole.trace, ":in") if not name.endswith("observer 1")} <= tried


@pytest.mark.parametrize("options", PLAYS.values(), ids=PLAYS)
def test_a_cancel_from_before_does_not_cut_what_runs_in_finally(options):
    whole = undisturbed(options)
    for step in range(1, whole.steps + 1):
        play = Play(**options).run(step)
        after = play.trace[play.trace.index("cancel") :]
        # Where nothing lies between the cancel and `finally`, it may have hit the waiting there.
        if "finally observer 1:in" in after[2:]:
            assert {"finally observer 1:out", "finally observer 2:out"} <= set(after), after


@pytest.mark.parametrize("options", [PLAYS["async"], PLAYS["stream"]], ids=["async", "stream"])
def test_two_cancels_at_any_two_steps_end_the_waiting_never_the_record(options):
    whole = undisturbed(options)
    for first, second in itertools.combinations(range(1, whole.steps + 1, STRIDE), 2):
        play = Play(**options).run(first, second)
        if play.trace.count("cancel") == 2:
            assert_the_cancel_went_through(play)


async def test_a_plain_receiver_that_cancels_its_own_task_ends_the_call_at_the_next_await():
    bus, armed, ran = Bus(), [], []

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            ran.append("body")

    @bus.signal("pre_reply").connect_via(Agent, priority=2)
    def stop(agent):
        if armed:
            asyncio.current_task().cancel()

    @bus.signal("pre_reply").connect_via(Agent, priority=1)
    async def ask(agent):
        await asyncio.sleep(0)

    agent = Agent()
    for _ in range(1):
        await agent.reply()
    ran.clear()
    armed.append(True)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(agent.reply())
    assert ran == []


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_who_raises_a_cancellation_of_its_own_in_finally_of_a_cancelled_call_has_failed(
    is_async,
):
    bus, failed = Bus(), []

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

    def plain(agent):
        raise asyncio.CancelledError("its own")

    async def awaited(agent):
        raise asyncio.CancelledError("its own")

    bus.signal("finally_reply").connect(awaited if is_async else plain, name="last")
    bus.events.connect(
        lambda bus, event: failed.append(event) if isinstance(event, events.Failed) else None,
        weak=False,
    )
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await asyncio.create_task(Agent().reply())
    assert [(event.receiver, event.action) for event in failed] == [("last", "isolated")]
    assert str(cancelled.value) != "its own"
