"""Generated code against the walk and against the oracle: the same programs, the same outcome,
order and exceptions.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .described import Program, Receiver, Says
from .examples import examples
from .observation import observe
from .oracle import predict
from .paths import compiled, looped, walked
from .programs import programs

in_both_colours = pytest.mark.parametrize("colour", ("sync", "async"))


def plainer(program: Program) -> Program:
    """Leave out what is always walked: listeners and odd colours.

    In every second program clocks, conditions and `once`, too.
    """
    receivers = [
        _plainer(one, program.is_async) for one in program.receivers if one.asks != "misfit"
    ]
    names = {one.name for one in receivers}
    # values are for listeners only
    left_out = {} if program.has_values else {"when": None, "once": False, "timed": False}
    connections = tuple(
        replace(one, before=tuple(names & {*one.before}), **left_out)
        for one in program.connections
        if one.receiver in names
    )
    return replace(program, receivers=tuple(receivers), connections=connections, is_listening=False)


def _plainer(one: Receiver, is_async: bool) -> Receiver:
    colour = one.colour if is_async else "sync"
    if is_async and one.phase == "around":
        colour = "async"
    elif one.role == "observe":
        colour = "sync" if one.asks == "ctx" or colour == "sync" else "async"
    return replace(one, colour=colour, says=Says() if one.says.kind == "hang" else one.says)


def check(program: Program) -> None:
    """Fail unless generated code does what the walk and the oracle say."""
    program = plainer(program)
    with walked():
        by_walk = observe(program, counted_by_walk := [])
    with compiled():
        by_code = observe(program, counted_by_code := [])
    with looped():
        by_loops = observe(program, counted_by_loops := [])
    assert by_code == by_walk, "\n" + by_walk.beside(by_code)
    assert by_loops == by_walk, "\n" + by_walk.beside(by_loops)
    assert counted_by_code == counted_by_loops == counted_by_walk
    assert by_walk == predict(program)


@in_both_colours
@examples(0.1)
@given(st.data())
def test_generated_code_does_what_the_walk_does(colour, data):
    check(data.draw(programs(colour)))


@in_both_colours
def test_most_plain_programs_are_compiled(colour):
    outcomes = []

    @examples(0.05)
    @given(st.data())
    def run(data):
        with compiled() as made:
            observe(plainer(data.draw(programs(colour))))
        outcomes.extend(made)

    run()
    assert sum(outcomes) > 0.6 * len(outcomes) > 0
