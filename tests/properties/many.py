"""Run random programs by number on every core: far more than a test that can shrink them.

    python -m tests.properties.many plans 100000      # against the oracle, in four kinds

Each run takes new numbers, beginning with `--first` if it is given. A failing program is reported
by its number, and `program_of_seed(number, colour)` makes it again. The exit code is 1 on failures.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from contextvars import copy_context
from typing import Any, Final
from unittest.mock import patch

from hookbus._calls import turns

from .described import COLOURS
from .programs import program_of_seed
from .test_against_oracle import check

AT_A_TIME: Final = 500


def failures(numbers: range) -> list[str]:
    """Check the programs of these numbers, their colours in turn; return what is wrong."""
    wrong = []
    for number in numbers:
        colour = COLOURS[number % len(COLOURS)]
        try:
            with looped() if number // len(COLOURS) % 2 else nullcontext():
                copy_context().run(check, program_of_seed(number, colour))
        except Exception as error:  # a difference, or what should not have come out
            wrong.append(f"program_of_seed({number}, {colour!r}): {type(error).__name__}: {error}")
    return wrong


def looped() -> Any:
    """Have any two receivers in a row that are written alike asked in a loop."""
    return patch.object(turns, "LOOP_FROM", 2)


def say_nothing() -> None:
    """Keep what hookbus logs of receivers that fail on purpose from hiding what is wrong."""
    logging.getLogger("hookbus").addHandler(logging.NullHandler())


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("check", choices=["plans"])
    options.add_argument("count", type=int)
    options.add_argument("--first", type=int, default=time.time_ns() // 1000)
    options.add_argument("--workers", type=int, default=os.cpu_count())
    asked = options.parse_args()
    last, wrong, done = asked.first + asked.count, 0, 0
    parts = [
        range(first, min(first + AT_A_TIME, last)) for first in range(asked.first, last, AT_A_TIME)
    ]
    with ProcessPoolExecutor(asked.workers, initializer=say_nothing) as pool:
        waiting = {pool.submit(failures, part): part for part in parts}
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
