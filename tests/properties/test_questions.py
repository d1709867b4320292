"""Whatever is connected and however it is asked: what a plain model says, the order of the ranks,
and
merging as its rules say.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookbus import Bus, explain, hookable, hookspec, modes

from .examples import examples
from .question_players import MODES, SAYS, Model, Player, Program, played

VALUES = {
    "last": st.integers(), "first": st.integers(), "concat": st.lists(st.integers(), max_size=3),
    "update": st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=3),
    "intersect": st.lists(st.sampled_from("abcd"), max_size=4, unique=True),
}  # fmt: skip

ANSWERS = st.none() | st.fixed_dictionaries(
    {}, optional={rule: values | st.none() for rule, values in VALUES.items()}
)


def merged_by_hand(answers: list[dict[str, Any] | None]) -> dict[str, Any]:
    """The same rules, one key at a time over all answers at once."""
    said = {
        key: [a[key] for a in answers if a is not None and a.get(key) is not None] for key in VALUES
    }
    by_hand = {
        "last": lambda values: values[-1],
        "first": lambda values: values[0],
        "concat": lambda values: [item for value in values for item in value],
        "update": lambda values: dict(pair for value in values for pair in value.items()),
        "intersect": lambda values: [
            item for item in values[0] if all(item in value for value in values)
        ],
    }
    return {key: by_hand[key](values) for key, values in said.items() if values}


def declare(bus: Bus, mode: Any, is_async: bool = False) -> Any:
    if is_async:

        async def question() -> Any: ...
    else:

        def question() -> Any: ...

    return hookspec(mode, bus=bus)(question)


@examples(0.1)
@given(st.lists(ANSWERS, max_size=5), st.booleans())
def test_merge_is_its_rules_key_by_key(answers, is_async):
    question = declare(Bus(), modes.merge(**{rule: rule for rule in VALUES}), is_async)
    for number, answer in enumerate(answers):
        question.connect(lambda answer=answer: answer, name=f"r{number}")
    found = asyncio.run(question()) if is_async else question()
    assert found == merged_by_hand(answers)


@examples(0.1)
@given(st.lists(ANSWERS, max_size=4), st.lists(ANSWERS, max_size=4))
def test_what_one_merges_from_two_groups_is_what_it_merges_from_all(ahead, behind):
    def merged(answers):
        question = declare(Bus(), modes.merge(**{rule: rule for rule in VALUES}))
        for number, answer in enumerate(answers):
            question.connect(lambda answer=answer: answer, name=f"r{number}")
        return question()

    assert merged([*ahead, *behind]) == merged([merged(ahead) or None, merged(behind) or None])


RANKS = st.lists(st.tuples(st.integers(-2, 2), st.booleans()), max_size=8)


@examples(0.1)
@given(RANKS, st.data())
def test_everybody_is_asked_by_priority_and_then_by_connection_in_every_mode(ranks, data):
    """And `firstresult` stops at the first of them that has an answer.

    Connecting again keeps the place.
    """
    is_async = data.draw(st.booleans())
    bus, asked = Bus(), []
    question = declare(bus, modes.broadcast, is_async)

    def receiver(number, says):
        asked.append(number)
        return number if says else None

    receivers = [functools.partial(receiver, n, says) for n, (_, says) in enumerate(ranks)]
    for number, (priority, _) in enumerate(ranks):
        question.connect(receivers[number], priority=priority, name=f"r{number}")
    for number in data.draw(st.permutations(range(len(ranks)))):
        question.connect(receivers[number], priority=ranks[number][0], name=f"r{number}")
    order = sorted(range(len(ranks)), key=lambda number: (-ranks[number][0], number))
    answers = [number for number in order if ranks[number][1]]

    def ask(call):
        asked.clear()
        return (asyncio.run(call()) if is_async else call()), list(asked)

    assert ask(question) == (answers, order)
    assert [row.receiver for row in explain(question)] == [f"r{number}" for number in order]
    given_by, all_asked = ask(question.ask)
    assert all_asked == order and [answer.receiver for answer in given_by.answers] == [
        f"r{n}" for n in order
    ]

    first = hookspec(modes.firstresult, bus=bus, name="first")(lambda: None)
    for number, (priority, _) in enumerate(ranks):
        first.connect(receivers[number], priority=priority, name=f"r{number}")
    asked.clear()
    assert first() == (answers[0] if answers else None)
    assert asked == order[: order.index(answers[0]) + 1 if answers else len(order)]


PLAYERS = st.builds(
    Player, st.sampled_from(SAYS), st.booleans(), st.integers(-1, 1),
    st.sampled_from(["isolate", "isolate", "raise", "block"]),
    st.sampled_from([None, None, None, True, False]), st.sampled_from([False, False, False, True]),
    st.sampled_from([None] * 9 + [20.0]),
)  # fmt: skip
PROGRAMS = st.builds(
    Program, st.lists(PLAYERS, max_size=5).map(tuple), st.sampled_from(sorted(MODES)),
    st.booleans(), st.lists(st.sampled_from(["call", "call", "ask"]), min_size=1, max_size=3),
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip


@examples(0.4)
@given(PROGRAMS)
def test_asking_gives_what_a_plain_model_says(program):
    assume(program.is_async or program.mode != "backwards")
    results, told, failed = played(program)
    model_results, model_told, model_failed = Model(program).run()
    assert results == model_results
    is_beside = program.is_async and program.mode in ("void", "two by two")
    if is_beside:
        told, model_told, failed, model_failed = (
            sorted(each, key=str) for each in (told, model_told, failed, model_failed)
        )
    assert told == model_told
    assert not program.listens or failed == model_failed


def test_whatever_changes_is_seen_by_the_next_call():
    bus = Bus()

    @hookspec(modes.firstresult, bus=bus)
    def question(x: int) -> Any: ...

    question.connect(lambda x: None, name="a")
    question.connect(lambda x: x, name="b")
    for _ in range(3):
        assert question(1) == 1
    with question.muted():
        assert question(1) is None
    assert question(1) == 1
    with question.connected_to(lambda x: "first", priority=1):
        assert [question(1) for _ in range(3)] == ["first"] * 3
    assert [question(1) for _ in range(3)] == [1] * 3
    with bus.signal("around_question").connected_to(
        lambda spec, call_next: ("around", call_next())
    ):
        assert [question(1) for _ in range(3)] == [("around", 1)] * 3
    heard = []
    with bus.events.connected_to(lambda bus, event: heard.append(event)):
        assert question(1) == 1 and len(heard) == 2
    with question.scope():
        assert [question(1) for _ in range(3)] == [1] * 3
    assert [question(1) for _ in range(3)] == [1] * 3 and inspect.isfunction(question)


@pytest.mark.parametrize("on_close", ["leaves", "swallows", "waits again"])
@pytest.mark.parametrize("kind", ["question", "method"])
def test_a_coroutine_that_is_closed_while_a_receiver_waits_ends_there_and_nobody_failed(
    kind, on_close
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
    for _ in range(2):
        with pytest.raises(StopIteration):
            call(1).send(None)
    ran.clear()
    is_closing.append(True)
    coroutine = call(1)
    coroutine.send(None)
    if on_close == "waits again":
        with pytest.raises(RuntimeError, match="ignored GeneratorExit"):  # as by hand
            coroutine.close()
    else:
        coroutine.close()
    assert ran == [] and [receiver.failures for receiver in signal.connections()] == [0, 0]
