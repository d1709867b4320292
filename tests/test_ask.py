"""`ask` gives every answer with who gave it.

And what the failure of a receiver does to a question, however it is asked.
"""

import asyncio
import threading
import time
import weakref
from contextlib import nullcontext

import pytest

from hookbus import (
    Block,
    Bus,
    HookBlocked,
    HookError,
    ReceiverError,
    events,
    hookspec,
    modes,
    report,
)  # fmt: skip
from hookbus.events import Failed
from hookbus.testing import record

MODES = [modes.void, modes.broadcast, modes.firstresult, modes.merge("last"), len]


@pytest.fixture
def bus():
    return Bus()


def declare(bus, mode, *, is_async=False, **options):
    if is_async:

        @hookspec(mode, bus=bus, **options)
        async def question(x=0): ...
    else:

        @hookspec(mode, bus=bus, **options)
        def question(x=0): ...

    return question


def fails(x):
    raise ValueError("a secret text")


# -- who answered what -----------------------------------------------------------------------------


def test_ask_gives_every_answer_in_order_with_who_gave_it_and_failures_apart(bus):
    question = declare(bus, modes.firstresult)

    def by_chat(x):
        return x + 1

    question.connect(by_chat)
    question.connect(fails, name="broken")
    question.connect(lambda x: None, name="declines")
    question.connect(lambda x: 5, name="not reached", when={"x": "9"})
    asked = question.ask(1)
    here = f"{__file__}:{by_chat.__code__.co_firstlineno}"
    given = [(a.receiver.rpartition(".")[2], a.value, a.error) for a in asked.answers]
    assert given == [("by_chat", 2, None), ("declines", None, None)]
    assert asked.answers[0].where == here
    assert [(a.receiver, type(a.error)) for a in asked.failures] == [("broken", ValueError)]
    assert asked.result == question(1) == 2
    with pytest.raises(AttributeError):
        asked.answers[0].value = 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
async def test_ask_asks_everybody_whatever_the_mode_needs_and_gives_its_result_too(
    bus, mode, is_async
):
    question = declare(bus, mode, is_async=is_async)
    for number in range(3):
        question.connect(lambda x, number=number: {"a": number}, name=f"r{number}")
    plain = await question() if is_async else question()
    asked = await question.ask() if is_async else question.ask()
    assert [answer.value["a"] for answer in asked.answers] == [0, 1, 2]
    assert asked.result == plain and asked.failures == ()


def test_a_question_may_have_an_argument_of_any_name(bus):
    @hookspec(modes.broadcast, bus=bus)
    def question(spec, self, args, kwargs): ...

    question.connect(lambda spec, self, args, kwargs: (spec, self, args, kwargs))
    assert (
        question.ask(spec=1, self=2, args=3, kwargs=4).result
        == question(spec=1, self=2, args=3, kwargs=4)
        == [(1, 2, 3, 4)]
    )


def test_a_wrong_ask_is_a_type_error_that_names_the_question(bus):
    with pytest.raises(TypeError, match=r"question.ask\(\) got an unexpected keyword argument 'y'"):
        declare(bus, modes.void).ask(y=1)


def test_the_result_of_ask_is_what_the_arounds_and_modifiers_make_of_it(bus):
    question = declare(bus, modes.broadcast)
    question.connect(lambda x: x)
    bus.signal("around_question").connect(
        lambda spec, call_next, x: [*call_next(x=x + 1), *call_next(x=x + 2)]
    )
    bus.signal("post_question").connect(lambda spec, result: tuple(result))
    asked = question.ask(0)
    assert asked.result == (1, 2)
    assert [answer.value for answer in asked.answers] == [2], "of the last attempt"


async def test_ask_of_a_void_question_gives_what_each_did_though_nothing_comes_back(bus):
    question, arrived = declare(bus, modes.void, is_async=True), asyncio.Barrier(2)

    async def evaluate(x):
        await arrived.wait()
        return "completed"

    question.connect(evaluate, name="a")
    question.connect(lambda x: evaluate(x), name="b")
    asked = await asyncio.wait_for(question.ask(), 10)
    assert [(a.receiver, a.value) for a in asked.answers] == [
        ("a", "completed"),
        ("b", "completed"),
    ]
    assert asked.result is None


# -- what a failure does ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_failing_receiver_is_told_and_the_others_are_asked(bus, mode, is_async):
    question, reached = declare(bus, mode, is_async=is_async), []
    question.connect(fails, name="broken")
    question.connect(lambda x: reached.append(x), name="next")
    with record(bus) as fired:
        _ = await question(7) if is_async else question(7)
    [failed] = fired.of(Failed)
    assert (failed.receiver, failed.role, failed.phase, failed.action) == (
        "broken", "answer", "answer", "isolated",
    )  # fmt: skip
    assert reached == [7]
    assert fired.outcomes == [("question", "returned")]
    assert any("broken" in f and "failed open once" in f for f in report(bus).findings)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asking", ["call", "ask"])
async def test_one_that_asks_to_raise_raises_and_one_that_asks_to_block_blocks(
    bus, mode, is_async, asking
):
    for on_error, expected in (("raise", ReceiverError), ("block", HookBlocked)):
        question = declare(Bus(), mode, is_async=is_async)
        question.connect(fails, name="broken", on_error=on_error)
        ask = question if asking == "call" else question.ask
        with pytest.raises(expected) as raised:
            _ = await ask() if is_async else ask()
        assert raised.value.receiver == "broken" and raised.value.hook == "question"
        assert "secret" not in str(raised.value)
        if expected is ReceiverError:
            assert isinstance(raised.value.__cause__, ValueError)
            assert str(raised.value) == (
        "receiver broken failed in question and has on_error='raise'"
    )


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("mode", [modes.void, modes.broadcast])
async def test_void_and_ask_settle_everybody_also_when_one_raises_and_the_first_goes_out(
    is_async, mode
):
    for ask_all in ([False, True] if mode is modes.void else [True]):
        bus = Bus()
        question, settled = declare(bus, mode, is_async=is_async), []
        question.connect(lambda x: fails(x), name="first", on_error="raise")
        question.connect(lambda x: fails(x), name="second", on_error="block")
        question.connect(lambda x: fails(x), name="third")
        question.connect(lambda x: settled.append("last"), name="last")
        ask = question.ask if ask_all else question
        with record(bus) as fired, pytest.raises(ReceiverError) as raised:
            _ = await ask() if is_async else ask()
        assert raised.value.receiver == "first" and settled == ["last"]
        assert [event.receiver for event in fired.of(Failed)] == ["first", "second", "third"]
        assert fired.outcomes == [("question", "raised")]


def test_one_that_asks_to_raise_stops_a_question_that_asks_one_after_the_other(bus):
    question, reached = declare(bus, modes.broadcast), []
    question.connect(fails, on_error="raise")
    question.connect(lambda x: reached.append(1), name="next")
    with pytest.raises(ReceiverError):
        question()
    assert reached == []


def test_a_block_in_ask_is_final_but_everybody_is_settled(bus):
    question, reached = declare(bus, modes.broadcast), []
    question.connect(lambda x: Block("no"), name="first")
    question.connect(lambda x: Block("me too"), name="second")
    question.connect(lambda x: reached.append(1), name="last")
    with pytest.raises(HookBlocked, match="blocked by first: no"):
        question.ask()
    assert reached == [1]


def test_a_failing_when_is_its_receivers_failure(bus):
    question = declare(bus, modes.broadcast)
    question.connect(lambda x: 1, name="a", when=lambda x: 1 / x)
    question.connect(lambda x: 2, name="b")
    assert question(0) == [2] and question(1) == [1, 2]


def test_a_receiver_that_writes_to_the_arguments_fails_and_changes_nothing(bus):
    question = declare(bus, modes.broadcast)

    def writes(ctx):
        try:
            ctx.kwargs["x"] = 9
        except TypeError:
            return "swallowed"

    question.connect(writes)
    question.connect(lambda x: x)
    assert question(1) == [1]


@pytest.mark.parametrize("policy", ["ignore", "stop"])
def test_a_policy_that_is_unknown_is_refused(bus, policy):
    with pytest.raises(HookError, match="is not valid"):
        declare(bus, modes.void).connect(fails, on_error=policy)


# -- deadlines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [modes.void, modes.broadcast])
@pytest.mark.parametrize("asking", ["call", "ask"])
async def test_an_async_receiver_that_hangs_is_cancelled_at_its_deadline_and_the_others_answer(
    bus, mode, asking
):
    question, ended = declare(bus, mode, is_async=True), []

    async def hangs(x):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    question.connect(hangs, name="hangs", timeout=0.05)
    question.connect(lambda x: ended.append("answered"), name="next")
    with record(bus) as fired:
        asked = await (question if asking == "call" else question.ask)()
    assert sorted(ended) == ["answered", "cancelled"]
    [failed] = fired.of(Failed)
    assert failed.receiver == "hangs" and isinstance(failed.exception, TimeoutError)
    if asking == "ask":
        assert [a.receiver for a in asked.failures] == ["hangs"] and [
            a.receiver for a in asked.answers
        ] == ["next"]


def test_a_plain_receiver_that_hangs_is_left_behind_at_its_deadline(bus):
    question, release = declare(bus, modes.broadcast), threading.Event()
    question.connect(lambda x: release.wait(), name="hangs", timeout=0.05)
    question.connect(lambda x: "next", name="next")
    try:
        assert question() == ["next"]
    finally:
        release.set()


def test_the_bus_has_a_deadline_for_receivers_without_their_own():
    question = declare(Bus(timeout=0.05), modes.broadcast)
    question.connect(lambda x: time.sleep(5), name="hangs")
    question.connect(lambda x: "quick", name="quick", timeout=5)
    assert question() == ["quick"]


# -- what always passes ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [modes.void, modes.broadcast, modes.firstresult])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_exit_of_the_interpreter_passes(mode, error, is_async):
    bus = Bus()
    question, reached = declare(bus, mode, is_async=is_async), []

    def exits(x):
        raise error

    question.connect(fails, name="ahead", on_error="raise" if mode is modes.void else "isolate")
    question.connect(exits)
    question.connect(lambda x: reached.append(1), name="next")
    with pytest.raises(error):
        _ = question() if not is_async else _step(question())
    assert reached == ([1] if mode is modes.void else [])


def _step(coroutine):
    """Run a coroutine that never waits: an event loop would have the exit for itself."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


@pytest.mark.parametrize("mode", [modes.void, modes.broadcast])
@pytest.mark.parametrize("asking", ["call", "ask"])
async def test_the_cancellation_of_who_asks_passes_and_reaches_the_receivers(bus, mode, asking):
    question, seen, begun = declare(bus, mode, is_async=True), [], asyncio.Event()

    async def waits(x):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    question.connect(waits, on_error="raise")
    with record(bus) as fired:
        task = asyncio.ensure_future((question if asking == "call" else question.ask)())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert seen == ["cancelled"] and fired.outcomes == [("question", "cancelled")]


async def test_a_cancelled_error_of_a_receivers_own_is_only_its_failure(bus):
    question = declare(bus, modes.broadcast, is_async=True)

    async def cancels_itself(x):
        raise asyncio.CancelledError

    question.connect(cancels_itself, name="odd")
    question.connect(lambda x: "next")
    assert await question() == ["next"]
    assert [a.receiver for a in (await question.ask()).failures] == ["odd"]


def test_a_failure_before_the_modes_own_error_is_noted_on_it(bus):
    def mode(receivers):
        yield receivers
        raise LookupError("of the mode")

    question = declare(bus, mode)
    question.connect(fails, name="broken", on_error="block")
    with pytest.raises(HookBlocked):
        question()


async def test_many_overlapping_questions_keep_their_answers_apart(bus):
    question = declare(bus, modes.broadcast, is_async=True)

    async def slow(x):
        await asyncio.sleep(0)
        return x

    question.connect(slow)
    question.connect(lambda x: -x)
    asked = await asyncio.gather(*(question.ask(n) for n in range(100)))
    assert [each.result for each in asked] == [[n, -n] for n in range(100)]
    assert [[a.value for a in each.answers] for each in asked] == [[n, -n] for n in range(100)]


async def twice_at_once(spec, call_next):
    return await asyncio.gather(call_next(x=1), call_next(x=4))


async def test_an_around_that_asks_several_times_at_once_gets_the_answers_of_each(bus):
    async def waits(x):
        for _ in range(x):
            await asyncio.sleep(0)
        return "first" if x == 1 else None

    @hookspec(modes.unique(lambda value: value), bus=bus)
    async def no_doubles(x): ...

    @hookspec(modes.with_default(modes.firstresult, lambda x: f"fallback {x}"), bus=bus)
    async def with_fallback(x): ...

    def others(receivers):
        """Asks the second only when the first has answered, and refuses that answer."""
        [answer] = yield receivers[:1]
        yield modes.Reject(answer, "no")
        [answer] = yield receivers[1:]
        return answer.value

    @hookspec(others, bus=bus)
    async def refusing(x): ...

    for question in (no_doubles, with_fallback, refusing):
        bus.signal(f"around_{question.__name__}").connect(twice_at_once)
        question.connect(waits)
    no_doubles.connect(lambda x: "second")
    refusing.connect(lambda x: x)
    async with asyncio.timeout(20):
        assert await no_doubles(0) == [["first", "second"], ["second"]]
        assert await with_fallback(0) == ["first", "fallback 4"]
        assert await refusing(0) == [1, 4]


# -- answers for late comers -----------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
async def test_replay_asks_who_came_late_of_everything_that_was_asked_once_and_in_order(
    bus, is_async
):
    if is_async:

        @hookspec(modes.broadcast, bus=bus, historic=True)
        async def configured(option): ...
    else:

        @hookspec(modes.broadcast, bus=bus, historic=True)
        def configured(option): ...

    async def settle(started):
        return await started if is_async else started

    heard = []
    configured.connect(lambda option: heard.append(("early", option)), name="early")
    await settle(configured("a"))
    await settle(configured(option="b"))
    heard.clear()
    configured.connect(
        lambda option: heard.append(("late", option)) or f"late {option}", name="late"
    )
    assert heard == [], "to connect runs nobody's code"
    replayed = await settle(configured.replay())
    assert heard == [("late", "a"), ("late", "b")]
    assert [[(a.receiver, a.value) for a in each.answers] for each in replayed] == [
        [("late", "late a")],
        [("late", "late b")],
    ]
    assert [each.result for each in replayed] == [["late a"], ["late b"]]
    assert await settle(configured.replay()) == ()
    await settle(configured("c"))
    assert heard[2:] == [("early", "c"), ("late", "c")] and await settle(configured.replay()) == ()


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_one_that_raises_kept_from_being_replayed_is_there_for_the_next_replay(
    bus, is_async
):
    question, heard = declare(bus, modes.void, is_async=is_async, historic=True), []

    async def settle(started):
        return await started if is_async else started

    for x in range(3):
        await settle(question(x))

    def late(x):
        heard.append(x)
        if x == 1:
            raise ValueError(x)

    question.connect(late, on_error="raise")
    with pytest.raises(ReceiverError):
        await settle(question.replay())
    assert heard == [0, 1]
    await settle(question.replay())
    assert heard == [0, 1, 2]


def test_what_a_guard_blocked_was_not_asked_and_is_not_replayed(bus):
    @hookspec(modes.broadcast, bus=bus, historic=True)
    def configured(option): ...

    bus.signal("pre_configured").connect(
        lambda spec, option: Block("no") if option == "bad" else None, role="guard"
    )
    configured("good")
    with pytest.raises(HookBlocked):
        configured("bad")
    configured.connect(lambda option: option)
    assert [each.result for each in configured.replay()] == [["good"]]


@pytest.mark.parametrize("mode", [modes.void, modes.firstresult, modes.merge()])
def test_a_question_that_is_not_historic_keeps_nothing(bus, mode):
    class Queried: ...

    question, asked = declare(bus, mode), Queried()
    question.connect(lambda x: None)
    question(asked)
    question.ask(asked)
    gone = weakref.ref(asked)
    del asked
    assert gone() is None
    with pytest.raises(HookError, match="declare it with @hookspec\\(mode, historic=True\\)"):
        question.replay()


@pytest.mark.parametrize("on_error", ["isolate", "raise"])
async def test_side_by_side_a_failing_when_is_that_receivers_failure_and_the_others_are_asked(
    bus, on_error
):
    @hookspec(modes.void, bus=bus)
    async def question(x): ...

    heard = []

    async def hears(x):
        heard.append(x)

    question.connect(hears, name="first", when=lambda x: 1 / x, on_error=on_error)

    @question.connect
    async def second(x):
        heard.append("second")

    if on_error == "isolate":
        await question(0)
    else:
        with pytest.raises(ReceiverError, match="first"):
            await question(0)
    assert heard == ["second"]
    with pytest.raises(ReceiverError) if on_error == "raise" else nullcontext():
        asked = await question.ask(0)
        assert [each.receiver for each in asked.failures] == ["first"]
    assert heard == ["second", "second"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("mode", [modes.broadcast, modes.unique(str), modes.void])
def test_each_turn_of_a_question_is_told_once_to_who_asks_for_it(bus, mode, is_async):
    question, told = declare(bus, mode, is_async=is_async), []
    answered = "nothing" if mode is modes.void else "answered"  # of which nothing is taken
    bus.events.connect(lambda bus, event: told.append(event), kinds=events.Invoked)
    question.connect(lambda x: x, name="one")
    question.connect(lambda x: None, name="silent")
    question.connect(fails, name="two")
    question.connect(lambda x: None, name="three", when=lambda x: x > 5)
    for ask in (question, question.ask):
        told.clear()
        asyncio.run(ask(1)) if is_async else ask(1)
        assert [(event.receiver, event.role, event.phase, event.answer) for event in told] == [
            ("one", "answer", "answer", answered),
            ("silent", "answer", "answer", "nothing"),
            ("two", "answer", "answer", "failed"),
            ("three", "answer", "answer", "not asked"),
        ]
        assert all(0 <= event.seconds < 60 for event in told)
