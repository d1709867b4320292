"""What goes wrong in a call that generated code runs ends as it does in the walk (C1-C14)."""

from __future__ import annotations

import asyncio
import contextlib
import re
import traceback

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, hookable
from tests.properties.paths import compiled, is_compiled

from ._hot import HOT, Broken, Stage, raises


def outcome_of(agent):
    """Make a call in which someone raises; return all that its caller can see of it."""
    notes = []
    try:
        return "returned", agent.think(notes), notes
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", []), type(error.__cause__), type(error.__context__), notes


def lines_of(error):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("on_error", ["isolate", "block", "raise"])
@pytest.mark.parametrize("phase", ["pre", "post", "finally", "around", "the body", "the body and finally"])
def test_exceptions_and_notes_are_the_same_in_hot_and_in_cold_calls(phase, on_error):
    def prepared():
        stage = Stage()
        stage.connect("before", priority=1)
        options = {"on_error": on_error} if phase in ("pre", "post") else {}
        for each in ("pre", "around", "post", "finally"):
            if each in phase:
                bad = lambda agent, notes: raises() if stage.is_bad else None  # noqa: E731
                if each == "around":
                    bad = lambda agent, call_next: raises() if stage.is_bad else call_next()  # noqa: E731
                stage.bus.signal(f"{each}_think").connect(bad, name="bad", **options)
        stage.body = lambda notes: raises() if stage.is_bad and "body" in phase else notes
        stage.connect("after", phase="finally")
        stage.is_bad = False
        return stage

    cold, hot = prepared(), prepared()
    hot.heat()
    cold.is_bad = hot.is_bad = True
    by_walk = outcome_of(cold.agent)
    by_code = outcome_of(hot.agent)
    assert by_code == by_walk
    assert by_code[-1][-1:] == ["after"]
    if phase == "the body and finally":
        assert re.fullmatch(r"hookbus: bad \(.*\) failed in finally_think: Broken", *by_code[2])


def test_the_traceback_of_a_body_that_raises_in_a_hot_call_shows_its_own_lines(stage):
    stage.body = raises
    with pytest.raises(Broken) as caught:
        stage.agent.think([])
    shown = lines_of(caught.value)
    assert shown[-1] == ("raises", 'raise Broken("on purpose")')
    assert ("think", "return stage.body(notes)") in shown
    assert ("think", "_result = _body(self, notes)") in shown


def test_the_traceback_of_a_receiver_that_raises_in_a_hot_call_shows_the_generated_line():
    stage, is_bad = Stage(), []
    stage.bus.signal("pre_think").connect(lambda agent: raises() if is_bad else None, on_error="raise")
    stage.heat()
    is_bad.append(True)
    with pytest.raises(Exception) as caught:
        stage.agent.think([])
    shown = lines_of(caught.value.__cause__)
    assert shown[-1] == ("raises", 'raise Broken("on purpose")')
    assert ("think", "_answer = _r0(self)") in shown


def test_verdicts_of_hot_calls_are_those_of_cold_ones(stage):
    answers = iter([Block("no"), Replace("instead"), Block("no", result="as text"), {"notes": ["patched"]}, None])
    stage.bus.signal("pre_think").connect(lambda agent, notes: next(answers) if "ask" in notes else None)
    stage.heat()
    with pytest.raises(HookBlocked, match="no"):
        stage.agent.think(["ask"])
    assert stage.agent.think(["ask"]) == "instead"
    assert stage.agent.think(["ask"]) == "as text"
    assert stage.agent.think(["ask"]) == ["patched", "guard", "body"]
    assert stage.agent.think(["ask"]) == ["ask", "first", "guard", "body"]
    assert is_compiled(stage.agent.think)


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
    stage.heat()
    for number in range(count):
        bad = {number}
        assert [note for note in stage.agent.think([]) if note != "body"] == [*range(count)]
    bad = set()
    stage.body = raises
    with pytest.raises(Broken):
        stage.agent.think([])
    assert is_compiled(stage.agent.think)
    assert [receiver.failures for receiver in signal.connections()] == [1] * count


def test_call_next_is_refused_once_its_around_has_ended_also_for_the_inner_one():
    stage, kept = Stage(), []

    def keeps(agent, call_next):
        kept.append(call_next)
        return call_next()

    for around in (keeps, lambda agent, call_next: keeps(agent, call_next)):
        stage.bus.signal("around_think").connect(around)
    stage.heat()
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
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
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
    stage.heat()
    bad.append(True)
    assert stage.agent.think([]) == "caught"
    failures = {receiver.function: receiver.failures for receiver in stage.bus.signal("around_think").connections()}
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
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    ran.clear()
    bad.append(1)
    assert await stage.agent.reply([]) == ["body"]
    assert ran == [0, 2]
    assert [receiver.failures for receiver in stage.bus.signal("pre_reply").connections()] == [0, 1, 0]


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("calls_next", [False, True], ids=["answers", "passes on"])
def test_where_a_receiver_fails_behind_an_around_the_outcome_is_still_what_the_around_made_it(calls_next, is_hot):
    stage, is_bad, outcomes = Stage(), [], []
    stage.bus.signal("around_think").connect(lambda agent, call_next: call_next() if calls_next else None)
    stage.bus.signal("post_think").connect(lambda agent: raises() if is_bad else None, role="observe")
    stage.bus.signal("finally_think").connect(lambda agent, ctx: outcomes.append(ctx.outcome))
    if is_hot:
        stage.heat()
    is_bad.append(True)
    stage.agent.think([])
    assert outcomes[-1] == ("returned" if calls_next else "replaced")


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_a_draft_and_a_patch_of_one_modifier_count_both_or_neither(is_hot):
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
    for _ in range(HOT if is_hot else 1):
        assert agent.add(1) == (10, 20, 3)
    assert is_compiled(agent.add) >= is_hot
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
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    is_odd.append(True)
    assert await stage.agent.reply([]) == ["body"]


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_what_the_method_raises_is_no_failure_of_the_arounds_it_passes_and_the_context_of_what_they_raise(is_hot):
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
    if is_hot:
        stage.heat()
    stage.body = raises
    with pytest.raises(LookupError) as caught:
        stage.agent.think([])
    assert isinstance(caught.value.__context__, Broken)
    assert [receiver.failures for receiver in signal.connections()] == [0, 1, 0]
    signal.disconnect(swallows)
    if is_hot:
        stage.body = lambda notes: notes
        stage.heat()
        stage.body = raises
    with pytest.raises(Broken):
        stage.agent.think([])
    assert [receiver.failures for receiver in signal.connections()] == [0, 0]


@pytest.mark.parametrize("phase", ["pre", "around", "an inner around", "post"])
async def test_a_cancellation_that_a_receiver_swallows_goes_through_in_hot_calls(phase):
    stage, is_patient = Stage(), False

    async def waits():
        if is_patient:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass

    async def swallows(agent):
        await waits()

    async def swallows_around(agent, call_next):
        result = await call_next()
        await waits()
        return result

    async def outer(agent, call_next):
        return await call_next()

    if "inner" in phase:
        stage.bus.signal("around_reply").connect(outer)
    if "around" in phase:
        stage.bus.signal("around_reply").connect(swallows_around)
    else:
        stage.bus.signal(f"{phase}_reply").connect(swallows)
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    is_patient = True
    task = asyncio.create_task(stage.agent.reply([]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_a_cancellation_that_the_method_swallows_is_its_own_affair_in_hot_calls_too():
    stage, is_patient = Stage(), False

    class Patient(stage.Agent):
        @hookable("wait", bus=stage.bus)
        async def wait(self):
            if is_patient:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    return "interrupted"
            return "done"

    async def looks(agent):
        await asyncio.sleep(0)

    async def around(agent, call_next):
        return await call_next()

    agent = Patient()
    stage.bus.signal("pre_wait").connect(looks)
    stage.bus.signal("post_wait").connect(looks)
    for arounds in range(2):
        is_patient = False
        if arounds:
            stage.bus.signal("around_wait").connect(around)
        for _ in range(HOT):
            await agent.wait()
        assert is_compiled(agent.wait)
        is_patient = True
        task = asyncio.create_task(agent.wait())
        for _ in range(4):
            await asyncio.sleep(0)
        task.cancel()
        assert await task == "interrupted"


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("is_inner_hot", [False, True], ids=["inner cold", "inner hot"])
@pytest.mark.parametrize("is_inner_watched", [False, True], ids=["inner plain", "inner awaits"])
async def test_what_a_hooked_method_inside_another_call_swallows_counts_the_same_in_hot_and_cold_calls(
    is_hot, is_inner_hot, is_inner_watched
):
    bus, impatient = Bus(), asyncio.Event()

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, from_body=False):
            if from_body:
                await self.wait()
            return "replied"

        @hookable("wait", bus=bus)
        async def wait(self):
            if impatient.is_set():
                asyncio.current_task().cancel()
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    pass

    async def looks(agent):
        await asyncio.sleep(0)

    async def waits(agent, from_body):
        if not from_body:
            await agent.wait()

    async def is_cancelled(agent, result):
        if impatient.is_set():
            raise asyncio.CancelledError

    agent = Agent()
    bus.signal("pre_wait").connect(looks if is_inner_watched else lambda agent: None, weak=False)
    bus.signal("pre_reply").connect(waits)
    for _ in range(HOT if is_inner_hot else 1):
        await agent.wait()
    for _ in range(HOT if is_hot else 1):
        await agent.reply(from_body=True)
    assert is_compiled(agent.reply) >= is_hot and is_compiled(agent.wait) >= (is_inner_hot or is_hot)
    impatient.set()
    if is_inner_watched:
        assert await asyncio.create_task(agent.reply()) == "replied"
    else:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(agent.reply())
    bus.signal("post_reply").connect(is_cancelled)
    impatient.clear()
    for _ in range(HOT if is_hot else 1):
        await agent.reply(from_body=True)
    impatient.set()
    # The method has swallowed the only cancellation there was: what the receiver raises by itself is a failure of its own.
    assert await asyncio.create_task(agent.reply(from_body=True)) == "replied"


async def test_cancellations_that_two_methods_swallowed_in_turn_are_counted_once_and_the_next_one_goes_through():
    bus, is_late = Bus(), asyncio.Event()

    async def swallow():
        if is_late.is_set():
            asyncio.current_task().cancel()
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                pass

    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self):
            await self.wait()
            await swallow()
            return "replied"

        @hookable("wait", bus=bus)
        async def wait(self):
            await swallow()

    async def looks(agent):
        await asyncio.sleep(0)

    async def cancels(agent):
        if is_late.is_set():
            asyncio.current_task().cancel()
        await asyncio.sleep(0)

    agent = Agent()
    bus.signal("pre_wait").connect(looks)
    bus.signal("post_reply").connect(cancels)
    for _ in range(HOT):
        await agent.reply()
    assert is_compiled(agent.reply) and is_compiled(agent.wait)
    is_late.set()
    task = asyncio.create_task(agent.reply())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_after_a_cancellation_a_hot_around_makes_no_further_attempt():
    stage, is_patient, bodies = Stage(), False, []

    class Patient:
        @hookable("wait", bus=stage.bus)
        async def wait(self):
            bodies.append(is_patient)

    async def stubborn(agent, call_next):
        if is_patient:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
        return await call_next()

    stage.bus.signal("around_wait").connect(stubborn)
    agent = Patient()
    for _ in range(HOT):
        await agent.wait()
    assert is_compiled(agent.wait)
    is_patient = True
    task = asyncio.create_task(agent.wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(bodies)


def test_a_call_keeps_its_number_and_its_state_where_the_walk_takes_over():
    stage, is_bad, seen = Stage(), [], []

    def notes(agent, ctx):
        ctx.state["number"] = ctx.call_id

    def blocks(agent):
        return Block("no") if is_bad else None

    stage.bus.signal("pre_think").connect(notes)
    stage.bus.signal("pre_think").connect(blocks, role="guard")
    stage.bus.signal("finally_think").connect(lambda agent, ctx: seen.append((ctx.outcome, ctx.state["number"] == ctx.call_id)))
    stage.heat()
    is_bad.append(True)
    with pytest.raises(HookBlocked):
        stage.agent.think([])
    assert seen == [*[("returned", True)] * HOT, ("blocked", True)]


def test_a_hot_call_is_replaced_where_the_method_did_not_run_and_returned_where_it_did():
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
    stage.heat()
    way[0] = "not at all"
    assert stage.agent.think([]) == "instead"
    way[0], stage.body = "as usual", raises
    assert stage.agent.think([]) == "instead"
    assert outcomes == [*["returned"] * HOT, "replaced", "replaced"]


async def test_observers_side_by_side_have_all_ended_before_a_cancelled_hot_call_has():
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
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    is_patient = True
    ended.clear()
    task = asyncio.create_task(call())
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert sorted(before) == [0, 1, 2]


async def test_a_second_cancel_ends_the_waiting_of_a_hot_call_for_observers_that_hang():
    stage, is_patient, gate = Stage(), False, asyncio.Event()

    async def hangs(agent):
        while is_patient and not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                pass

    async def hangs_too(agent):
        await hangs(agent)

    for observer in (hangs, hangs_too):
        stage.bus.signal("pre_reply").connect(observer, role="observe")
    for _ in range(HOT):
        await stage.agent.reply([])
    assert is_compiled(stage.agent.reply)
    is_patient = True
    task = asyncio.create_task(stage.agent.reply([]))
    for _ in range(2):
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    gate.set()
    assert done and task.cancelled()


def test_a_receiver_in_reserve_is_asked_only_where_its_twin_has_not_answered_however_often_it_is_called():
    stage, is_bad = Stage(), []

    def receiver(agent, notes):
        notes.append("asked")
        if is_bad:
            raise Broken

    stage.bus.signal("pre_think").connect(receiver, sender=stage.Agent)
    stage.bus.signal("pre_think").connect(receiver, on_error="block")
    with compiled():
        assert [stage.agent.think([]) for _ in range(HOT)] == [["asked", "body"]] * HOT
        is_bad.append(True)
        notes = []
        with pytest.raises(HookBlocked):
            stage.agent.think(notes)
    assert notes == ["asked", "asked"]


@pytest.mark.parametrize("change", [{"unknown": 1}, {"notes": ["patched"], "unknown": 1}])
@pytest.mark.parametrize("way", ["a patch", "a draft"])
def test_a_patch_of_an_unknown_name_fails_in_a_hot_call_and_none_of_it_is_kept(way, change):
    stage, is_bad = Stage(), []

    def patches(agent):
        return change if is_bad else None

    def drafts(agent, ctx):
        if is_bad:
            ctx.kwargs.update(change)

    stage.bus.signal("pre_think").connect(patches if way == "a patch" else drafts)
    stage.heat()
    is_bad.append(True)
    assert stage.agent.think([]) == ["body"]
    (receiver,) = stage.bus.signal("pre_think").connections()
    assert receiver.failures == 1


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("priority", [1, -1], ids=["outermost", "further in"])
def test_an_around_that_writes_to_the_arguments_has_failed_even_if_it_swallows_the_error(stage, priority, is_hot):
    is_armed = []

    def writes(agent, ctx, call_next):
        if is_armed:
            with contextlib.suppress(TypeError):
                ctx.kwargs["notes"] = []
        return call_next()

    stage.bus.signal("around_think").connect(writes, priority=priority)
    stage.bus.signal("around_think").connect(lambda agent, ctx, call_next: call_next(), name="other")
    if is_hot:
        stage.heat()
    is_armed.append(True)
    with pytest.raises(HookError, match=r"writes \(.*\) wrote to ctx.kwargs; write call_next\(name=value\)"):
        stage.agent.think([])
