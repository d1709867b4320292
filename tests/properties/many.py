"""Random programs by their numbers, on every core.

They are far more than a test can draw that must be able to shrink them.

    python -m tests.properties.many plans 100000      # against the oracle, in four colours
    python -m tests.properties.many paths 1000000     # walked, compiled, and by the oracle

Each run takes new numbers, from `--first` on if that is given. A program that fails is told by its
number, and `program_of_seed(number, colour)` makes it again. The exit code says whether any did.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Final

from . import test_against_oracle, test_compiled_and_walked
from .described import COLOURS
from .programs import program_of_seed

CHECKS: Final = {
    "plans": (test_against_oracle.check, COLOURS),
    "paths": (test_compiled_and_walked.check, ("sync", "async")),
}
AT_A_TIME: Final = 500


def failures(check: str, numbers: range) -> list[str]:
    """Check the programs of these numbers, their colours in turn; return what is wrong."""
    is_right, colours = CHECKS[check]
    wrong = []
    for number in numbers:
        colour = colours[number % len(colours)]
        try:
            is_right(program_of_seed(number, colour))
        except Exception as error:  # a difference, or what should not have come out
            wrong.append(f"program_of_seed({number}, {colour!r}): {type(error).__name__}: {error}")
    return wrong


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("check", choices=CHECKS)
    options.add_argument("count", type=int)
    options.add_argument("--first", type=int, default=time.time_ns() // 1000)
    options.add_argument("--workers", type=int, default=os.cpu_count())
    asked = options.parse_args()
    last, wrong, done = asked.first + asked.count, 0, 0
    parts = [
        range(first, min(first + AT_A_TIME, last)) for first in range(asked.first, last, AT_A_TIME)
    ]
    with ProcessPoolExecutor(asked.workers) as pool:
        waiting = {pool.submit(failures, asked.check, part): part for part in parts}
        for future in as_completed(waiting):
            for difference in future.result():
                wrong += 1
                print(difference, flush=True)
            done += len(waiting[future])
            if done % (AT_A_TIME * 100) == 0:
                print(f"{done:,} of {asked.count:,}", flush=True)
    print(f"{asked.check}: {done:,} programs from number {asked.first} on, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
