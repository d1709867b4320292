"""`python -m tests.bench` prints the table. `--help` lists the options."""

from __future__ import annotations

import argparse
import gc
import json
import platform
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from . import chart, costs, costs_guards, growth, table
from .harness import Bench, Effort, Figure, Measured, Row
from .peers import PEERS, measuring
from .profiling import profile
from .rows import all_rows, short_rows, take
from .rows_fleet import rows as rows_of_fleets
from .short import decide


def main(arguments: list[str]) -> int:
    """Do what the command line says, and return an exit code."""
    if arguments[:1] == ["install"]:
        return measuring.install(arguments[1:])
    options = _parser().parse_args(arguments)
    # What is there now stays: the collections between rounds need not look at it again.
    gc.collect()
    gc.freeze()
    if options.profile:
        return profile(options.profile)
    if options.short:
        return decide(short_rows(), say=print)
    return full(options)


def full(options: argparse.Namespace) -> int:
    """Print every table, and write the files that were asked for."""
    began = time.perf_counter()
    record: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    effort = Effort(options.seconds, rounds=options.rounds)
    with Bench(effort) as bench:
        # Those of fleets need a Postgres, so they are measured only when they are asked for.
        known = [*all_rows(), *rows_of_fleets()] if options.only else all_rows()
        rows = [row for row in known if _is_wanted(row.key, options.only)]
        goals = [_measured(bench, row) for row in rows]
        if goals:
            peers = _with_peers(goals, effort) if options.peers else []
            table.goals(goals, peers)
        record["goals"] = [asdict(row) for row in goals]
        record["costs"] = [asdict(row) for row in _costs(bench, options.only)]
        if not options.only:
            record |= _growth(bench, options.long)
    print(
        f"\nPython {platform.python_version()}, {platform.machine()}; "
        f"{time.perf_counter() - began:.0f} s"
    )
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    if options.chart:
        Path(options.chart).write_text(chart.svg(goals))
    return 0


def _costs(bench: Bench, only: list[str] | None) -> Iterator[Measured]:
    for row in (*costs.rows(), *costs_guards.rows()):
        if _is_wanted(row.key, only):
            measured = _measured(bench, row)
            table.costs(measured)
            yield measured


def _growth(bench: Bench, long: bool) -> dict[str, Any]:
    receivers = growth.by_receivers(bench)
    growth.print_receivers(receivers)
    instances = (
        growth.by_instances(growth.INSTANCES_LONG, 100_000) if long else growth.by_instances()
    )
    growth.print_instances(instances)
    return {"receivers": receivers, "instances": instances}


def _with_peers(goals: list[Measured], effort: Effort) -> list[str]:
    """Add the ratios of the peers that are installed; return their names."""
    found = []
    for name in measuring.installed():
        _progress(name)
        try:
            measuring.add(goals, name, measuring.measure(name, effort, [row.key for row in goals]))
        except (RuntimeError, TimeoutExpired) as problem:
            print(f"{name}: not measured: {problem}")
        else:
            found.append(name)
    _progress("")
    return found


def _is_wanted(key: str, only: list[str] | None) -> bool:
    """Tell whether a row is asked for: `P4,P17`, `P4 P17`, or in full, such as `"P10 connect"`."""
    names = [name.strip() for names in only or () for name in re.split(r",(?=P)", names)]
    return not names or any(re.match(rf"{re.escape(name)}\b", key) for name in names)


def _measured(bench: Bench, row: Row | Figure) -> Measured:
    _progress(row.key)
    measured = take(bench, row)
    _progress("")
    return measured


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="What hookbus costs, next to the same work written by hand.",
        epilog=f"`python -m tests.bench install [{' '.join(PEERS)}]` makes environments for other "
        "systems, which the table then measures too.",
    )  # fmt: skip
    parser.add_argument(
        "--short", action="store_true",
        help="only the goals, with 15 %% slack; exit 1 when one is missed",
    )  # fmt: skip
    parser.add_argument(
        "--only", nargs="+", metavar="ROW",
        help="only these rows: P4,P17, or 'P10 connect'; costs for what each thing costs; fleet "
        "for the figures of fleets, which need a Postgres",
    )  # fmt: skip
    parser.add_argument(
        "--profile", metavar="CASE",
        help="cProfile of one case, such as 'P2 async' or 'P2 async: pluggy'",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--chart", metavar="FILE.svg", help="draw the goals")
    parser.add_argument("--long", action="store_true", help="grow to 10^6 instances")
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="leave out the other systems"
    )
    parser.add_argument(
        "--rounds", type=int, default=Effort.rounds,
        help="fewer than 7 are only a look (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=Effort.seconds, help="of one timing (default %(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
