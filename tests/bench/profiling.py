"""`--profile CASE`: show where the time of one case is spent."""

from __future__ import annotations

import asyncio
import cProfile
import inspect
import pstats

from .harness import Bench, Effort, Row
from .rows import all_rows


def profile(name: str, seconds: float = 1.0) -> int:
    """Print the functions that take most of the time of a case: `ROW` for hookbus's, or `ROW:
    CASE`. Return an exit code.
    """
    key, _, wanted = (part.strip() for part in name.partition(":"))
    rows = {row.key: row for row in all_rows() if isinstance(row, Row) and row.missing is None}
    if key not in rows:
        print(f"there is no row {key!r}; there are: {', '.join(rows)}")
        return 2
    cases = rows[key].cases()
    wanted = wanted or "hookbus"
    if wanted not in cases:
        print(f"{key} has no case {wanted!r}; it has: {', '.join(cases)}")
        return 2
    case = cases[wanted]
    with Bench(Effort(seconds)) as bench:
        bench.check(case)
        calls = bench.calibrate(case)
    profiler = cProfile.Profile()
    with profiler:
        if inspect.iscoroutinefunction(case.many):
            asyncio.run(case.many(calls))
        else:
            case.many(calls)
    print(
        f"{key}, {wanted}: {calls * case.unit:,} calls; the profiler itself makes short functions "
        "look slower than they are"
    )
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return 0
