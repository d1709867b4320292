"""The short form for every change: only the goals, with some tolerance. A ratio fails if it misses
its limit twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .harness import Bench, Effort, Figure, Measured, Row
from .limits import KNOWN_MISSES, SLACK, KnownMiss, judge
from .rows import take
from .table import number

EFFORT = Effort(timings=8, rounds=7)


def _measure(row: Row | Figure) -> Measured:
    with Bench(EFFORT) as bench:
        return take(bench, row)


def decide(
    rows: Sequence[Row | Figure], *, say: Callable[[str], object],
    measure: Callable[[Row | Figure], Measured] = _measure,
    known: dict[str, KnownMiss] = KNOWN_MISSES,
) -> int:  # fmt: skip
    """Measure the rows and say how each one did.

    Return 0, or 1 when one missed its limit in two measurements.
    """
    missed = left_out = 0
    for row in rows:
        measured = measure(row)
        verdict = judge(measured, SLACK, known)
        if verdict == "miss":
            first = measured.ratios["hookbus"]
            measured = measure(row)
            verdict = judge(measured, SLACK, known)
            say(f"{row.key}: {number(first)} was over its limit, measured again")
        missed += verdict in ("miss", "wrong")
        left_out += verdict == "not there yet"
        say(_line(measured, verdict, known))
    say(
        f"{len(rows) - missed - left_out} passed, {missed} failed"
        + f", {left_out} skipped" * bool(left_out)
    )
    return 1 if missed else 0


def _line(row: Measured, verdict: str, known: dict[str, KnownMiss]) -> str:
    if row.missing is not None:
        return f"{row.key:28} {row.missing}"
    if verdict == "wrong":
        return (
            f"{row.key:28} wrong: {'; '.join(f'{name}: {why}' for name, why in row.failed.items())}"
        )
    unit = "" if row.unit == "x" else " " + row.unit
    limit = f"{number(row.limit or 0)}{unit}"
    line = f"{row.key:28} {number(row.ratios['hookbus']):>8}{unit}  limit {limit}  {verdict}"
    if verdict == "known miss":
        return f"{line}: {known[row.key].reason}, at most {number(known[row.key].ceiling)}"
    return line
