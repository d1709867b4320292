"""Failures, call after call: who failed has failed, nobody else, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import contextlib
import traceback

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, hookable

from ._calm import Broken, Stage, raises


def outcome_of(agent):
    """Make a call in which someone raises; return all that its caller can see of it."""
    notes = []
    try:
        return "returned", agent.think(notes), notes
    except Exception as error:
        return (
            type(error),
            str(error),
            getattr(error, "__notes__", []),
            type(error.__cause__),
            type(error.__context__),
            notes,
        )


def lines_of(error):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def test_the_traceback_of_a_body_that_raises_in_a_call_shows_its_own_lines(stage):
    stage.body = raises
    with pytest.raises(Broken) as caught:
        stage.agent.think([])
    shown = lines_of(caught.value)
    assert shown[-1] == ("raises", 'raise Broken("on purpose")')
    assert ("think", "return stage.body(notes)") in shown


@pytest.mark.parametrize("count", [11, 12, 40], ids=["written out", "just a loop", "a loop"])
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_among_many_alike_each_is_asked_once_and_only_who_failed_has_failed(count, phase):
    stage, bad = Stage(), set()

    def receiver(number):
        def runs(agent, notes):
            notes.append(number)
            if number in bad:
                raise Broken

        return runs

    signal = stage.bus.signal(f"{phase}_think")
    for number in range(count):
        signal.connect(receiver(number))
    stage.warm()
    for number in range(count):
        bad = {number}
        assert [note for note in stage.agent.think([]) if note != "body"] == [*range(count)]
    bad = set()
    stage.body = raises
    with pytest.raises(Broken):
        stage.agent.think([])
    assert [receiver.failures for receiver in signal.connections()] == [1] * count


def test_call_next_is_refused_once_its_around_has_ended_also_for_the_inner_one():
    stage, kept = Stage(), []

    def keeps(agent, call_next):
        kept.append(call_next)
        return call_next()

    for around in (keeps, lambda agent, call_next: keeps(agent, call_next)):
        stage.bus.signal("around_think").connect(around)
    stage.warm()
    kept.clear()
    assert stage.agent.think([]) == ["body"]
    for call_next in kept:
        with pytest.raises(HookError, match="after its around had ended"):
            call_next()
    assert len(kept) == 2


async def test_call_next_is_refused_once_its_around_has_ended_also_where_it_is_awaited():
    stage, kept = Stage(), []

    async def keeps(agent, call_next):
        kept.append(call_next)
        return await call_next()

    async def keeps_too(agent, call_next):
        return await keeps(agent, call_next)

    for each in (keeps, keeps_too):
        stage.bus.signal("around_reply").connect(each)
    for _ in range(3):
        await stage.agent.reply([])
    for call_next in kept[-2:]:
        with pytest.raises(HookError, match="after its around had ended"):
            await call_next()


def test_an_around_that_fails_inside_another_is_counted_also_where_the_outer_one_catches_it():
    stage, bad = Stage(), []

    def catches(agent, call_next):
        try:
            return call_next()
        except Broken:
            return "caught"

    def breaks(agent, call_next):
        return raises() if bad else call_next()

    outer = stage.bus.signal("around_think").connect(catches)
    inner = stage.bus.signal("around_think").connect(breaks)
    stage.warm()
    bad.append(True)
    assert stage.agent.think([]) == "caught"
    failures = {
        receiver.function: receiver.failures
        for receiver in stage.bus.signal("around_think").connections()
    }
    assert failures == {outer: 0, inner: 1}


async def test_an_observer_that_fails_beside_others_is_counted_and_harms_none():
    stage, bad, ran = Stage(), [], []

    def observer(number):
        async def looks(agent):
            await asyncio.sleep(0)
            if number in bad:
                raise Broken
            ran.append(number)

        return looks

    for number in range(3):
        stage.bus.signal("pre_reply").connect(observer(number), role="observe")
    for _ in range(3):
        await stage.agent.reply([])
    ran.clear()
    bad.append(1)
    assert await stage.agent.reply([]) == ["body"]
    assert ran == [0, 2]
    assert [receiver.failures for receiver in stage.bus.signal("pre_reply").connections()] == [
        0,
        1,
        0,
    ]


@pytest.mark.parametrize("calls_next", [False, True], ids=["answers", "passes on"])
def test_where_a_receiver_fails_behind_an_around_the_outcome_is_still_what_the_around_made_it(
    calls_next,
):
    stage, is_bad, outcomes = Stage(), [], []
    stage.bus.signal("around_think").connect(
        lambda agent, call_next: call_next() if calls_next else None
    )
    stage.bus.signal("post_think").connect(
        lambda agent: raises() if is_bad else None, role="observe"
    )
    stage.bus.signal("finally_think").connect(lambda agent, ctx: outcomes.append(ctx.outcome))
    is_bad.append(True)
    stage.agent.think([])
    assert outcomes[-1] == ("returned" if calls_next else "replaced")


def test_a_draft_and_a_patch_of_one_modifier_count_both_or_neither():
    bus, patch, extra = Bus(), {"b": 20}, {}

    class Agent:
        @hookable("add", bus=bus)
        def add(self, a, b=2, c=3):
            return a, b, c

    @bus.signal("pre_add").connect
    def both(agent, ctx):
        ctx.kwargs["a"], ctx.kwargs["b"] = 10, 0
        ctx.kwargs.update(extra)
        return patch

    agent = Agent()
    for _ in range(1):
        assert agent.add(1) == (10, 20, 3)
    patch["nobody"] = 1
    assert agent.add(1) == (1, 2, 3)
    del patch["nobody"]
    extra["nobody"] = 1
    assert agent.add(1) == (1, 2, 3)
    extra.clear()
    assert agent.add(1) == (10, 20, 3)


async def test_answers_of_observers_side_by_side_are_never_compared():
    class Odd:
        def __eq__(self, other):
            raise Broken("like an array, it cannot be compared")

    stage, is_odd = Stage(), []

    async def one(agent):
        return Odd() if is_odd else None

    async def other(agent):
        return Odd() if is_odd else None

    for observer in (lambda agent: None, one, other):
        stage.bus.signal("post_reply").connect(observer, role="observe", weak=False)
    for _ in range(3):
        await stage.agent.reply([])
    is_odd.append(True)
    assert await stage.agent.reply([]) == ["body"]


def test_what_the_method_raises_is_no_failure_of_the_arounds_it_passes_and_the_context_of_what_they_raise():  # noqa: E501
    stage = Stage()

    def passes(agent, call_next):
        return call_next()

    def swallows(agent, call_next):
        try:
            return call_next()
        except Broken:
            pass
        raise LookupError("the around's own")

    signal = stage.bus.signal("around_think")
    for around in (passes, swallows, lambda agent, call_next: call_next()):
        signal.connect(around)
    stage.body = raises
    with pytest.raises(LookupError) as caught:
        stage.agent.think([])
    assert isinstance(caught.value.__context__, Broken)
    assert [receiver.failures for receiver in signal.connections()] == [0, 1, 0]
    signal.disconnect(swallows)
    with pytest.raises(Broken):
        stage.agent.think([])
    assert [receiver.failures for receiver in signal.connections()] == [0, 0]


def test_a_call_keeps_its_number_and_its_state_where_the_walk_takes_over():
    stage, is_bad, seen = Stage(), [], []

    def notes(agent, ctx):
        ctx.state["number"] = ctx.call_id

    def blocks(agent):
        return Block("no") if is_bad else None

    stage.bus.signal("pre_think").connect(notes)
    stage.bus.signal("pre_think").connect(blocks, role="guard")
    stage.bus.signal("finally_think").connect(
        lambda agent, ctx: seen.append((ctx.outcome, ctx.state["number"] == ctx.call_id))
    )
    stage.warm()
    is_bad.append(True)
    with pytest.raises(HookBlocked):
        stage.agent.think([])
    assert seen == [*[("returned", True)] * 3, ("blocked", True)]


def test_a_call_is_replaced_where_the_method_did_not_run_and_returned_where_it_did():
    stage, way, outcomes = Stage(), ["as usual"], []

    def around(agent, call_next):
        if way[0] == "not at all":
            return "instead"
        try:
            return call_next()
        except Broken:
            return "instead"

    stage.bus.signal("around_think").connect(around)
    stage.bus.signal("finally_think").connect(lambda agent, ctx: outcomes.append(ctx.outcome))
    stage.warm()
    way[0] = "not at all"
    assert stage.agent.think([]) == "instead"
    way[0], stage.body = "as usual", raises
    assert stage.agent.think([]) == "instead"
    assert outcomes == [*["returned"] * 3, "replaced", "replaced"]


async def test_observers_side_by_side_have_all_ended_before_a_cancelled_call_has():
    stage, is_patient, ended, before = Stage(), False, [], []

    def observer(number):
        async def looks(agent):
            try:
                await (asyncio.Event().wait() if is_patient else asyncio.sleep(0))
            finally:
                ended.append(number)

        return looks

    async def call():
        try:
            await stage.agent.reply([])
        finally:
            before.extend(ended)

    for number in range(3):
        stage.bus.signal("pre_reply").connect(observer(number), role="observe")
    for _ in range(3):
        await stage.agent.reply([])
    is_patient = True
    ended.clear()
    task = asyncio.create_task(call())
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert sorted(before) == [0, 1, 2]


@pytest.mark.parametrize("change", [{"unknown": 1}, {"notes": ["patched"], "unknown": 1}])
@pytest.mark.parametrize("way", ["a patch", "a draft"])
def test_a_patch_of_an_unknown_name_fails_in_a_call_and_none_of_it_is_kept(way, change):
    stage, is_bad = Stage(), []

    def patches(agent):
        return change if is_bad else None

    def drafts(agent, ctx):
        if is_bad:
            ctx.kwargs.update(change)

    stage.bus.signal("pre_think").connect(patches if way == "a patch" else drafts)
    stage.warm()
    is_bad.append(True)
    assert stage.agent.think([]) == ["body"]
    (receiver,) = stage.bus.signal("pre_think").connections()
    assert receiver.failures == 1


@pytest.mark.parametrize("priority", [1, -1], ids=["outermost", "further in"])
def test_an_around_that_writes_to_the_arguments_has_failed_even_if_it_swallows_the_error(
    stage, priority
):
    is_armed = []

    def writes(agent, ctx, call_next):
        if is_armed:
            with contextlib.suppress(TypeError):
                ctx.kwargs["notes"] = []
        return call_next()

    stage.bus.signal("around_think").connect(writes, priority=priority)
    stage.bus.signal("around_think").connect(
        lambda agent, ctx, call_next: call_next(), name="other"
    )
    is_armed.append(True)
    with pytest.raises(
        HookError, match=r"writes \(.*\) wrote to ctx.kwargs; write call_next\(name=value\)"
    ):
        stage.agent.think([])
