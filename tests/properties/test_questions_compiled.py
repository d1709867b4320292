"""A question in generated code against the walk: the same receivers and calls, the same answers,
order, failures, exceptions.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from typing import Any

import attrs
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hookbus import Bus, ReceiverError, _question_source, hookable, hookspec, modes
from hookbus._questions.spec import Spec

from .examples import examples
from .question_players import DOES, MODES, SAYS, Player, play, waits

USUAL = st.sampled_from(["none", "none", "argument", "zero", "object"])
ROUNDS = st.lists(USUAL | st.sampled_from(sorted(SAYS)), min_size=1, max_size=4).map(tuple)
PLAYERS = st.builds(
    Player, ROUNDS, st.sampled_from(["x", "x=9", "y, *, x", "x, /", "**k", "", "*, x, own=3"]),
    st.sampled_from(["isolate", "isolate", "raise", "block"]), st.integers(-1, 1),
    st.sampled_from([False] * 9 + [True]),
)  # fmt: skip
WHAT = [(where, does) for where in ("", "question", "method") for does in DOES]
AWAITS = st.none() | st.none() | st.just(("", waits)) | st.sampled_from(WHAT)
ASYNC_PLAYERS = st.builds(
    lambda player, is_async, awaits: attrs.evolve(player, is_async=is_async, awaits=awaits),
    PLAYERS,
    st.sampled_from(["", "def", "def", "partial", "object", "unknown"]),
    st.lists(AWAITS, min_size=1, max_size=4).map(tuple),
)  # fmt: skip


def compared(players: list[Player], mode: Any, calls: int, colour: str) -> bool:
    """Play it twice, and tell whether generated code ran the second time."""
    walked, was_compiled = play(players, mode, calls, hot=-1, colour=colour)
    assert not was_compiled
    compiled, was_compiled = play(players, mode, calls, hot=2, colour=colour)
    assert compiled == walked
    return was_compiled


@examples(0.2)
@given(st.lists(PLAYERS, min_size=1, max_size=5), st.sampled_from(MODES), st.integers(4, 9))
def test_generated_code_does_what_the_walk_does(players, mode, calls):
    event(f"compiled: {compared(players, mode, calls, 'sync')}")


@examples(0.2)
@given(st.lists(ASYNC_PLAYERS, min_size=1, max_size=5), st.sampled_from(MODES), st.integers(4, 9))
def test_generated_code_does_what_the_walk_does_on_an_event_loop(players, mode, calls):
    event(f"compiled: {compared(players, mode, calls, 'async')}")


@pytest.mark.parametrize("mode", [modes.broadcast, modes.firstresult])
@pytest.mark.parametrize(("where", "does"), WHAT)
def test_a_cancellation_in_generated_code_goes_where_it_goes_in_the_walk(where, does, mode):
    """All pairs of what can come one after the other.

    Random programs rarely have two, and late enough.
    """
    others = [Player(("none",), "x", "isolate", 0, False, is_async) for is_async in ("", "def")]
    for second in WHAT:
        awaits = (None, None, None, (where, does), second, None)
        assert compared(
            [Player(("none",), "x", "isolate", 1, False, "def", awaits), *others], mode, 6, "async"
        )


def test_what_is_drawn_is_compiled_and_stops_half_way_too():
    """The test above says something: a program that is compiled, in which a late receiver does
    something unusual.
    """
    rounds = (("none",) * 4, ("none", "none", "none", "raises"))
    players = [Player(each, "x", "raise", 0, False) for each in rounds]
    seen, was_compiled = play(players, modes.firstresult, 4, hot=2)
    assert was_compiled and seen[-3][:2] == ("error", ReceiverError)


def test_generated_code_is_left_where_something_changes():
    bus = Bus()

    @hookspec(modes.firstresult, bus=bus)
    def question(x: int) -> Any: ...

    question.connect(lambda x: None, name="a")
    question.connect(lambda x: x, name="b")
    for _ in range(20):
        assert question(1) == 1
    with question.muted():
        assert question(1) is None
    assert question(1) == 1
    with question.connected_to(lambda x: "first", priority=1):
        assert [question(1) for _ in range(20)] == ["first"] * 20
    assert [question(1) for _ in range(20)] == [1] * 20
    with bus.signal("around_question").connected_to(
        lambda spec, call_next: ("around", call_next())
    ):
        assert [question(1) for _ in range(20)] == [("around", 1)] * 20
    heard = []
    with bus.events.connected_to(lambda bus, event: heard.append(event)):
        assert question(1) == 1 and len(heard) == 2
    with question.scope():
        assert [question(1) for _ in range(20)] == [1] * 20
    assert [question(1) for _ in range(20)] == [1] * 20 and inspect.isfunction(question)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_an_interrupt_between_two_lines_of_generated_code_goes_out(mode, colour):
    bus, left = Bus(), [0]

    def plain(x: int) -> Any: ...

    async def coroutine(x: int) -> Any: ...

    question: Any = hookspec(mode, name="question", bus=bus)(
        plain if colour == "sync" else coroutine
    )
    for _ in range(2):
        question.connect(lambda x: None)

    def interrupt(frame: Any, what: str, _: Any) -> Any:
        if frame.f_code.co_filename.startswith("<hookbus plan") and what == "line":
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
        return interrupt

    async def asks() -> Any:
        return await question(1)

    def traced() -> Any:
        previous = sys.gettrace()
        sys.settrace(interrupt)
        try:
            return question(1) if colour == "sync" else asyncio.run(asks())
        finally:
            sys.settrace(previous)

    for _ in range(20):
        usual = traced()
    lines = 0
    while True:
        lines += 1
        left[0] = lines
        try:
            assert traced() == usual
        except KeyboardInterrupt:
            continue
        break
    assert lines > 5 and left[0] == 1


def test_code_for_receivers_that_are_connected_no_more_is_not_put_in_place(monkeypatch):
    """A question gets hot in one thread at the moment in which another disconnects a receiver."""
    bus, compiled, asking = Bus(), threading.Event(), []

    @hookspec(modes.broadcast, bus=bus)
    def question(x: int) -> Any: ...

    question.connect(lambda x: "stays")
    leaves = question.connect(lambda x: "leaves")
    question(1)
    compile_question, look_again = _question_source.compile_question, Spec.look_again

    def noted(*arguments: Any) -> Any:
        run = compile_question(*arguments)
        compiled.set()
        return run

    def interrupted(spec: Spec) -> None:
        look_again(spec)
        if not asking:
            asking.append(
                threading.Thread(target=lambda: [question(1) for _ in range(20)], daemon=True)
            )
            asking[0].start()
            compiled.wait(0.5)

    monkeypatch.setattr(_question_source, "compile_question", noted)
    monkeypatch.setattr(Spec, "look_again", interrupted)
    question.disconnect(leaves)
    asking[0].join(20)
    assert question(1) == ["stays"]


@pytest.mark.parametrize("on_close", ["leaves", "swallows", "waits again"])
@pytest.mark.parametrize("kind", ["question", "method"])
@pytest.mark.parametrize("calls", [2, 20])
def test_a_coroutine_that_is_closed_while_a_receiver_waits_ends_there_and_nobody_failed(
    kind, on_close, calls
):
    bus, ran, is_closing = Bus(), [], []

    async def body(x: int) -> Any:
        ran.append("body")

    async def waits_long(*_: Any) -> Any:
        if not is_closing:
            return
        try:
            await asyncio.sleep(0)
        except GeneratorExit:
            if on_close == "leaves":
                raise
            if on_close == "waits again":
                await asyncio.sleep(0)

    async def behind(*_: Any) -> Any:
        ran.append("behind")

    declare = (
        hookspec(modes.broadcast, name="question", bus=bus)
        if kind == "question"
        else hookable("reply", bus=bus)
    )
    call: Any = declare(body)
    signal = bus.signal("question" if kind == "question" else "pre_reply")
    signal.connect(waits_long)
    signal.connect(behind)
    for _ in range(calls):
        with pytest.raises(StopIteration):
            call(1).send(None)
    ran.clear()
    is_closing.append(True)
    coroutine = call(1)
    coroutine.send(None)
    coroutine.close()
    assert ran == [] and [receiver.failures for receiver in signal.connections()] == [0, 0]
