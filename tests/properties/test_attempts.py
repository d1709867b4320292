"""Overlapping calls whose arounds make tasks of their attempts, and repeat, cancel and leave them
(G8, G23).
"""

from hypothesis import given

from .attempts import Play, programs
from .examples import examples


@examples(0.15)
@given(programs())
def test_a_call_ends_once_and_no_method_begins_after_a_block(program):
    play = Play(program)
    for call in range(len(program.calls)):
        noted = play.of(call)
        whats = [what for _, what in noted]
        assert sum(who == "end" for who, _ in noted) <= 1
        assert "blocks" not in whats or ("body", "in") not in noted[whats.index("blocks") :]
