"""Measure the rows of a peer in its environment, and print them as JSON. `measuring` starts it."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict

from tests.bench.harness import Bench, Effort, Row


def main(name: str, seconds: float, rounds: int, wanted: list[str]) -> None:
    rows = importlib.import_module(f"{__package__}.{name}").rows()
    with Bench(Effort(seconds, rounds=rounds)) as bench:
        measured = [
            bench.measure(Row(key, "", cases)) for key, cases in rows.items() if key in wanted
        ]
    print(json.dumps([asdict(row) for row in measured]))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
