"""A question in generated code against the walk: the same receivers and calls, the same answers, order, failures, exceptions."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any
from unittest.mock import patch

import attrs
from hypothesis import event, given
from hypothesis import strategies as st

from hookbus import Block, Bus, Drop, ReceiverError, Replace, _answering, _question_source, hookspec, modes

from .examples import examples

MODES = [modes.void, modes.broadcast, modes.firstresult]


async def coroutine() -> int:
    return 1


SAYS: dict[str, Any] = {
    "none": lambda x: None,
    "argument": lambda x: x,
    "zero": lambda x: 0,
    "object": lambda x: range(x),
    "block": lambda x: Block("no"),
    "block with result": lambda x: Block("no", result=("instead", x)),
    "replace": lambda x: Replace(x),
    "drop": lambda x: Drop(),
    "coroutine": lambda x: coroutine(),
    "raises": lambda x: [][x],
    "stop iteration": lambda x: next(iter(())),
    "exits": lambda x: (_ for _ in ()).throw(KeyboardInterrupt(str(x))),
    "cancelled": lambda x: (_ for _ in ()).throw(asyncio.CancelledError(str(x))),
}


@attrs.frozen
class Player:
    """One receiver: what it says in each round, how it is called, and what its failure does."""

    rounds: tuple[str, ...]
    form: str
    on_error: str
    priority: int
    disconnects: bool


USUAL = st.sampled_from(["none", "none", "argument", "zero", "object"])
ROUNDS = st.lists(USUAL | st.sampled_from(sorted(SAYS)), min_size=1, max_size=4).map(tuple)
PLAYERS = st.builds(
    Player, ROUNDS, st.sampled_from(["x", "x=9", "y, *, x", "x, /", "**k", "", "*, x, own=3"]),
    st.sampled_from(["isolate", "isolate", "raise", "block"]), st.integers(-1, 1), st.sampled_from([False] * 9 + [True]),
)  # fmt: skip


def receiver_of(player: Player, number: int, told: list[Any], current: list[int], leave: Any) -> Any:
    def said(seen: Any) -> Any:
        told.append((number, seen))
        if player.disconnects:
            leave(number)
        return SAYS[player.rounds[current[0] % len(player.rounds)]](current[0])

    seen = {"": "None", "**k": "sorted(k.items())", "y, *, x": "(x, y)"}.get(player.form, "x")
    return eval(f"lambda {player.form}: said({seen})", {"said": said})


def play(players: list[Player], mode: Any, calls: int, hot: int) -> tuple[list[Any], bool]:
    """Ask so often; return all that can be seen, and whether generated code ran."""
    bus, told, current, made = Bus(), [], [0], []

    @hookspec(mode, bus=bus)
    def question(x: int, y: str = "y") -> Any: ...

    def leave(number: int) -> None:
        question.disconnect(receivers[(number + 1) % len(receivers)])

    receivers = [receiver_of(player, number, told, current, leave) for number, player in enumerate(players)]
    for number, (receiver, player) in enumerate(zip(receivers, players)):
        question.connect(receiver, name=f"r{number}", on_error=player.on_error, priority=player.priority)

    compile_question = _question_source.compile_question

    def noted(*arguments: Any) -> Any:
        run = compile_question(*arguments)
        made.append(run is not None)
        return run

    with patch.object(_answering, "HOT", hot), patch.object(_question_source, "compile_question", noted):
        for current[0] in range(calls):
            try:
                told.append(("result", question(current[0])))
            except BaseException as error:
                cause, frame = error.__cause__, error.__context__
                told.append(("error", type(error), str(error), type(cause), type(frame) if cause is None else None))
    rows = [(r.name, r.has_fired, r.has_blocked, r.failures, r.fail_opens, (r.last_failure or "").partition(" ")[0])
            for r in question.signal.connections()]  # fmt: skip
    return [*told, *rows], any(made)


@examples(0.2)
@given(st.lists(PLAYERS, min_size=1, max_size=5), st.sampled_from(MODES), st.integers(4, 9))
def test_generated_code_does_what_the_walk_does(players, mode, calls):
    walked, was_compiled = play(players, mode, calls, hot=-1)
    assert not was_compiled
    compiled, was_compiled = play(players, mode, calls, hot=2)
    event(f"compiled: {was_compiled}")
    assert compiled == walked


def test_what_is_drawn_is_compiled_and_stops_half_way_too():
    """The test above says something: a program that is compiled, in which a late receiver does something unusual."""
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
    with bus.signal("around_question").connected_to(lambda spec, call_next: ("around", call_next())):
        assert [question(1) for _ in range(20)] == [("around", 1)] * 20
    heard = []
    with bus.events.connected_to(lambda bus, event: heard.append(event)):
        assert question(1) == 1 and len(heard) == 2
    with question.scope():
        assert [question(1) for _ in range(20)] == [1] * 20
    assert [question(1) for _ in range(20)] == [1] * 20 and inspect.isfunction(question)
