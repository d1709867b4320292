"""Receivers that are held, written or answer in unusual ways, call after call."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import threading

import pytest

from hookbus import Bus, HookBlocked, HookError, Replace, hookable

from ._calm import Stage, raises


@pytest.mark.parametrize("phase", ["pre", "around", "post"])
def test_the_method_of_another_object_that_is_held_weakly_runs_as_long_as_that_object_lives(phase):
    class Watcher:
        def pre(self, agent, notes):
            notes.append("watched")

        def around(self, agent, notes, call_next):
            notes.append("watched")
            return call_next()

        post = pre

    stage, watcher = Stage(), Watcher()
    stage.bus.signal(f"{phase}_think").connect(getattr(watcher, phase), weak=True)
    for _ in range(3):
        assert sorted(stage.agent.think([])) == ["body", "watched"]
    del watcher
    gc.collect()
    assert stage.agent.think([]) == ["body"]


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
async def test_an_awaited_observer_that_is_held_weakly_looks_as_long_as_it_lives(phase):
    async def looks(agent, notes):
        notes.append("seen")

    stage = Stage()
    stage.bus.signal(f"{phase}_reply").connect(looks, role="observe", weak=True)
    for _ in range(3):
        assert sorted(await stage.agent.reply([])) == ["body", "seen"]
    del looks
    gc.collect()
    assert await stage.agent.reply([]) == ["body"]


def test_a_lambda_and_a_method_with_a_parameter_of_its_own_name_are_hooked_as_any_other():
    bus = Bus()

    class Agent:
        @hookable("say", bus=bus)
        def say(self, say):
            return say

    double = hookable("double", bus=bus)(lambda number: 2 * number)
    bus.signal("pre_say").connect(lambda agent, say: {"say": say + "!"})
    bus.signal("pre_double").connect(lambda function, number: {"number": number + 1})
    agent = Agent()
    for _ in range(3):
        assert (agent.say("hi"), double(1)) == ("hi!", 4)


@pytest.mark.parametrize("place", ["outermost", "further in"])
def test_a_plain_around_that_returns_an_awaitable_has_failed(place):
    stage, is_bad = Stage(), []

    async def later():
        return "late"

    stage.bus.signal("around_think").connect(
        lambda agent, call_next: later() if is_bad else call_next(), name="promises"
    )
    if place == "further in":
        stage.bus.signal("around_think").connect(lambda agent, call_next: call_next(), priority=1)
    stage.warm()
    is_bad.append(True)
    with pytest.raises(HookError, match="returned an awaitable, but the hook is a plain def"):
        stage.agent.think([])
    (failures,) = (
        r.failures for r in stage.bus.signal("around_think").connections() if r.name == "promises"
    )
    assert failures == 1


@pytest.mark.parametrize("ran", [True, False], ids=["the method ran", "the method did not run"])
def test_an_around_may_wrap_the_result_in_a_replace_and_the_outcome_is_told_as_without(ran):
    stage, way, outcomes = Stage(), ["as usual"], []

    def around(agent, call_next):
        if way[0] == "as usual":
            return call_next()
        return Replace(call_next() if ran else "instead")

    stage.bus.signal("around_think").connect(around)
    stage.bus.signal("finally_think").connect(lambda agent, ctx: outcomes.append(ctx.outcome))
    stage.warm()
    way[0] = "wrapped"
    assert stage.agent.think([]) == (["body"] if ran else "instead")
    assert outcomes[-1] == ("returned" if ran else "replaced")


async def test_an_awaited_observer_that_answers_with_a_patch_has_failed_and_nobody_is_asked_twice():
    stage, answers = Stage(), [None]

    async def looks(agent):
        return answers[0]

    stage.connect("asked", hook="reply")
    stage.bus.signal("pre_reply").connect(looks, role="observe")
    await stage.agent.reply([])
    answers[0] = {"notes": ["patched"]}
    assert await stage.agent.reply([]) == ["asked", "body"]
    assert [receiver.failures for receiver in stage.bus.signal("pre_reply").connections()] == [0, 1]


async def called_in_cleanup(stage):
    """Return what a call brings that is made where its task is cancelled already."""
    results = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            results.append(await stage.agent.reply([]))

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return results[0]


@pytest.mark.parametrize("way", ["replaces", "fails"])
@pytest.mark.parametrize("phase", ["pre", "post"])
async def test_a_call_in_the_cleanup_of_a_cancelled_task_goes_on_where_a_receiver_does_the_unusual(
    phase, way
):
    stage, is_odd = Stage(), []

    async def odd(agent, notes):
        if is_odd:
            return Replace([*notes, "replaced"]) if way == "replaces" else raises()
        return None

    stage.bus.signal(f"{phase}_reply").connect(odd)
    await stage.agent.reply([])
    is_odd.append(True)
    result = await called_in_cleanup(stage)
    expected = {
        "fails": ["body"],
        "replaces": ["replaced"] if phase == "pre" else ["body", "replaced"],
    }
    assert result == expected[way]


async def test_a_call_in_the_cleanup_of_a_cancelled_task_goes_on_where_an_around_does_the_unusual():
    stage, is_odd = Stage(), []

    async def odd(agent, call_next):
        result = await call_next()
        return Replace([*result, "replaced"]) if is_odd else result

    stage.bus.signal("around_reply").connect(odd)
    await stage.agent.reply([])
    is_odd.append(True)
    assert await called_in_cleanup(stage) == ["body", "replaced"]


@pytest.mark.parametrize("whose", ["its own", "that of the bus"])
def test_a_deadline_holds_however_often_a_call_is_made(whose):
    stage, is_slow, release = Stage(), [], threading.Event()
    stage.bus.timeout = 0.3 if whose == "that of the bus" else None

    def looks_long(agent):
        if is_slow:
            release.wait(30)

    own = {"timeout": 0.3} if whose == "its own" else {}
    stage.bus.signal("pre_think").connect(looks_long, role="guard", **own)
    for _ in range(3):
        assert stage.agent.think([]) == ["body"]
    is_slow.append(True)
    with pytest.raises(HookBlocked, match="guard failed: TimeoutError"):
        stage.agent.think([])
    release.set()


def test_a_guard_that_serves_one_class_only_blocks_the_other_however_often_both_are_called():
    bus = Bus()
    bus.signal("pre_send").connect(lambda agent, letter: None, role="guard")

    class Post:
        @hookable("send", bus=bus)
        def send(self, letter):
            return letter

    class Radio:
        @hookable("send", bus=bus)
        def send(self, song):
            return song

    for _ in range(3):
        assert Post().send("hello") == "hello"
        with pytest.raises(HookBlocked):
            Radio().send("hello")


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_receiver_that_shows_other_parameters_than_it_has_is_asked_by_their_names(role):
    seen = []

    def looks(agent, notes):
        seen.append(notes)

    @functools.wraps(looks)
    def outer(agent, **asked):
        looks(agent, **asked)

    stage = Stage()
    stage.bus.signal("pre_think").connect(outer, role=role)
    assert stage.agent.think([]) == ["body"] and len(seen) == 1
