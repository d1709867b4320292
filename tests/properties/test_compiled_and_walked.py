"""Generated code against the walk and against the oracle: the same programs, the same outcome, order and exceptions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .described import Program, Says
from .examples import examples
from .observation import observe
from .oracle import predict
from .paths import compiled, walked
from .programs import programs

in_both_colours = pytest.mark.parametrize("colour", ("sync", "async"))


def plainer(program: Program) -> Program:
    """Leave out what is always walked: listeners, clocks, conditions, and who takes only one turn."""
    fitting = tuple(
        replace(one, says=Says()) if one.says.kind == "hang" else one
        for one in program.receivers if one.asks != "misfit" and (one.colour == "sync" or program.is_async)
    )  # fmt: skip
    names = {one.name for one in fitting}
    plain = tuple(
        replace(one, when=None, once=False, timed=False, before=tuple(names & {*one.before}))
        for one in program.connections if one.receiver in names
    )  # fmt: skip
    return replace(program, receivers=fitting, connections=plain, is_listening=False)


@in_both_colours
@examples(0.5)
@given(st.data())
def test_generated_code_does_what_the_walk_does(colour, data):
    program = plainer(data.draw(programs(colour)))
    with walked():
        by_walk = observe(program)
    with compiled():
        by_code = observe(program)
    assert by_code == by_walk, "\n" + by_walk.beside(by_code)
    assert by_walk == predict(program)


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
    assert sum(outcomes) > 0.3 * len(outcomes) > 0
