"""Show which test covers each row of each system.

    python -m tests.systems.coverage                 the table and its totals
    python -m tests.systems.coverage agentscope      one system

`rows.tsv` holds every row of every system: features, defects, and behaviour that an adapter must
keep. A test covers the rows in its name: `test_agentscope_A1_the_metaclass_wraps`,
`test_agentscope_d01_d02_...`. The exit code is 1 if a row has neither a test nor a reason, or if a
test names an unknown row.
"""

from __future__ import annotations

import ast
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Row(NamedTuple):
    """One line of a system's tables; `excused` says why it needs no test."""

    system: str
    kind: str
    row: str
    about: str
    excused: str


def rows() -> list[Row]:
    """Return every row there is."""
    with (HERE / "rows.tsv").open(newline="") as lines:
        return [Row(**line) for line in csv.DictReader(lines, delimiter="\t")]


def tests() -> Iterator[tuple[str, str]]:
    """Yield file and name of every test in this folder that is to pass, read and not imported: each
    has its environment."""
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith(
                "test_"
            ):
                if not any("xfail" in ast.unparse(decorator) for decorator in node.decorator_list):
                    yield path.name, node.name


def covered_by(name: str, known: dict[str, set[str]]) -> tuple[str, list[str]] | None:
    """Return system and rows that the name of a test says; None for a test that names no system."""
    system, _, rest = name.removeprefix("test_").partition("_")
    if system not in known:
        return None
    found = []
    while match := max(
        (row for row in known[system] if f"{rest}_".startswith(f"{row}_")), key=len, default=""
    ):
        found.append(match)
        rest = rest[len(match) + 1 :]
    return system, found


def main(chosen: list[str]) -> int:
    """Print the table and return 0 if nothing is missing."""
    table = [row for row in rows() if not chosen or row.system in chosen]
    known: dict[str, set[str]] = defaultdict(set)
    for row in rows():
        known[row.system].add(row.row)
    tested, strays = defaultdict(list), []
    for file, name in tests():
        covers = covered_by(name, known)
        if covers is not None:
            strays += [f"{file}: {name}"] if not covers[1] else []
            for row in covers[1]:
                tested[covers[0], row].append(name)
    for row in table:
        names = tested[row.system, row.row]
        state = names[0] if names else f"excused: {row.excused}" if row.excused else "NO TEST"
        print(
            f"{row.system:11}{row.kind:9} {row.row:10} "
            f"{state}{f' (and {len(names) - 1} more)' if names[1:] else ''}"
        )
    missing = [row for row in table if not tested[row.system, row.row] and not row.excused]
    print()
    for system, kind in dict.fromkeys((row.system, row.kind) for row in table):
        mine = [row for row in table if (row.system, row.kind) == (system, kind)]
        done = sum(bool(tested[row.system, row.row]) for row in mine)
        excused = sum(bool(row.excused) and not tested[row.system, row.row] for row in mine)
        print(
            f"{system:11}{kind:9} {done:3} tested  {excused:3} excused  "
            f"{len(mine) - done - excused:3} missing  of {len(mine)}"
        )
    print(f"{'total':20} {len(table) - len(missing)} of {len(table)} rows tested or excused")
    for stray in strays:
        print(f"names no row: {stray}")
    return int(bool(missing or strays))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
