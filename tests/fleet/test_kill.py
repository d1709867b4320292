"""Processes and the server are killed at random moments. `tests.fleet.kill` has more rounds."""

from .kill import run


def test_whoever_is_killed_nothing_is_lost_doubled_overtaken_used_twice_or_past_a_guard(
    made, postgres, tmp_path
):
    figures = run(postgres, made.schema, tmp_path, rounds=6, seed=31)
    assert figures["server killed"] and figures["events"] and figures["payments"]
