"""What pluggy brings into Bub that surprises is not hookbus's."""

import asyncio
import gc
import inspect
import time
import weakref

import pytest

from hookbus import (
    Block,
    HookBlocked,
    HookError,
    modes,
    receives,
    report,
)  # fmt: skip

from .questions import async_question, question


async def test_bub_XP2_both_colours_give_values_none_never_wins_and_timing_covers_the_wait(bus):
    first = async_question(bus, modes.firstresult, "first")
    every = async_question(bus, modes.broadcast, "every")

    async def none():
        return None

    async def later():
        await asyncio.sleep(0.02)
        return 1

    for asked in (first, every):
        for receiver in (none, later, lambda: 2):
            asked.connect(receiver, name=getattr(receiver, "__name__", ""))
    took = []

    async def timing(question, call_next):
        began = time.monotonic()
        result = await call_next()
        took.append(time.monotonic() - began)
        return result

    bus.signal("around_first").connect(timing)
    assert (await first(), await every()) == (1, [1, 2]) and took[0] >= 0.02
    with pytest.raises(HookError):
        bus.signal("around_every").connect(lambda question, cal_next: None)


def test_bub_XP3_an_around_changes_arguments_skips_and_repeats(bus):
    asked, seen = question(bus, modes.firstresult), []
    asked.connect(lambda message: seen.append(message) or message, name="echo")
    with bus.signal("around_ask").connected_to(
        lambda question, call_next: call_next(message="patched")
    ):
        assert asked() == "patched"
    with bus.signal("around_ask").connected_to(lambda question, call_next: "skipped"):
        assert asked() == "skipped"
    with bus.signal("around_ask").connected_to(
        lambda question, call_next: (call_next(), call_next())
    ):
        assert asked() == ("hi", "hi")
    with (
        bus.signal("pre_ask").connected_to(lambda question: Block("no"), role="guard"),
        pytest.raises(HookBlocked),
    ):
        asked()
    assert seen == ["patched", "hi", "hi"]


def test_bub_XP4_every_answer_has_who_gave_it(bus):
    asked = question(bus, modes.broadcast)
    asked.connect(lambda: 1, name="one")
    asked.connect(lambda: 2, name="two")
    assert [(answer.receiver, answer.value) for answer in asked.ask().answers] == [
        ("one", 1),
        ("two", 2),
    ]


def test_bub_XP5_numbers_and_constraints_order_and_contradictions_are_refused(bus):
    asked, told = question(bus, modes.void), []
    for name, options in (
        ("c", {}), ("b", {"before": "c"}), ("a", {"priority": 0.5}), ("d", {"after": "c"}),
    ):  # fmt: skip
        asked.connect(lambda name=name: told.append(name), name=name, **options)
    asked()
    assert told == ["a", "b", "c", "d"]
    with pytest.raises(HookError):
        asked.connect(lambda: None, name="e", before="b", after="d")


def test_bub_XP6_handles_take_away_their_own_in_any_order(bus):
    asked = question(bus, modes.broadcast)
    first, second = (
        asked.connected_to(lambda name=name: name, name=name) for name in ("first", "second")
    )
    first.disconnect()
    assert asked() == ["second"]
    second.disconnect()
    first.disconnect()
    assert asked() == []


def test_bub_XP7_keyword_only_and_all_keywords_get_their_arguments(bus):
    asked, seen = question(bus, modes.void), []

    def keyword(*, message):
        seen.append(message)

    asked.connect(keyword)
    asked.connect(lambda **everything: seen.append(sorted(everything)), name="all")
    asked()
    assert seen == ["hi", ["message", "session_id"]]


def test_bub_XP8_plugins_that_are_equal_or_cannot_be_hashed_are_still_two(bus):
    class Plugin:
        __hash__ = None

        def __eq__(self, other):
            return True

        @receives("ask")
        def answer(self):
            return 1

    asked = question(bus, modes.broadcast)
    unregister, _ = bus.register(Plugin()), bus.register(Plugin())
    assert asked() == [1, 1]
    unregister()
    assert asked() == [1]


def test_bub_XP9_removal_takes_effect_at_the_next_call_weak_receivers_go_and_recursion_is_reported(
    bus,
):
    asked = question(bus, modes.broadcast)
    handles = []

    def removing():
        handles[0].disconnect()
        return "removing"

    asked.connect(removing)
    handles.append(asked.connected_to(lambda: "removed", name="removed"))
    assert asked() == ["removing", "removed"] and asked() == ["removing"]

    def held():
        return "held"

    asked.connect(held, weak=True)
    assert asked() == ["removing", "held"]
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None and asked() == ["removing"]

    def recurse():
        return asked()

    asked.connect(recurse)
    asked()
    said = [finding for finding in report(bus).findings if "stop the recursion" in finding]
    assert any(".recurse" in each for each in said)


def test_bub_XP10_a_question_is_called_like_the_function_it_is(bus):
    asked = question(bus, modes.firstresult)
    asked.connect(lambda message, session_id: (message, session_id))
    assert asked("a", "b") == asked("a", session_id="b") == ("a", "b")
    assert list(inspect.signature(asked).parameters) == ["message", "session_id"]
