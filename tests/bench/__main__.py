"""`python -m tests.bench`: the table. `--help` says what else."""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import table
from .harness import Bench, Effort, Measured
from .profiling import profile
from .rows import all_rows, short_rows, take
from .short import decide


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    # What is there now stays: the collections between rounds need not look at it again.
    gc.collect()
    gc.freeze()
    if options.profile:
        return profile(options.profile)
    if options.short:
        return decide(short_rows(), say=print)
    began = time.perf_counter()
    rows = [row for row in all_rows() if not options.only or any(f"{row.key} ".startswith(f"{name} ") for name in options.only)]
    with Bench(Effort(options.seconds, rounds=options.rounds)) as bench:
        measured = [_noted(take(bench, row)) for row in rows]
        print("\r\033[K" if sys.stderr.isatty() else "", end="", file=sys.stderr)
        table.goals(measured)
    print(f"Python {platform.python_version()}, {platform.machine()}; {time.perf_counter() - began:.0f} s")
    if options.json:
        Path(options.json).write_text(json.dumps(_record(measured), indent=1) + "\n")
    return 0


def _noted(measured: Measured) -> Measured:
    if sys.stderr.isatty():
        print(f"\r\033[K{measured.key}", end="", file=sys.stderr, flush=True)
    return measured


def _record(measured: list[Measured]) -> dict[str, Any]:
    return {"python": platform.python_version(), "machine": platform.machine(), "goals": [asdict(row) for row in measured]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="What hookbus costs, next to the same by hand.")
    parser.add_argument("--short", action="store_true", help="only the goals, with 15 %% slack; exit 1 when one is missed")
    parser.add_argument("--only", nargs="+", metavar="ROW", help="rows whose name begins so, such as P2 'P10 sync'")
    parser.add_argument("--profile", metavar="CASE", help="cProfile of one case, such as 'P2 async' or 'P2 async: pluggy'")
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--rounds", type=int, default=9, help="rounds, 7 at least count as a result (default 9)")
    parser.add_argument("--seconds", type=float, default=0.01, help="seconds of one timing (default 0.01)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
