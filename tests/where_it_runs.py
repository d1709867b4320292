"""Where hookbus has run: `where_it_runs.tsv` as a page of the documentation.

    python -m tests.where_it_runs            print the page
    python -m tests.where_it_runs --write    put it into docs/explanation/where-it-runs.md

A row says which Python, platform and server, what was run there, and by whom: `.ci/run`,
`.ci/nightly`, GitHub, by hand, or nobody.
"""

import csv
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
ROWS: Final = ROOT / "tests" / "where_it_runs.tsv"
PAGE: Final = ROOT / "docs" / "explanation" / "where-it-runs.md"

RUNNERS: Final = {
    ".ci/run": "`.ci/run`, which every change must pass, on one machine with Debian 12; "
    "Python 3.14 and 3.15 are Debian's builds in its distribution `sid`",
    ".ci/nightly": "`.ci/nightly`, the long forms of it, on the same machine",
    "GitHub": "`.github/workflows/ci.yml`, which runs where the repository is on GitHub; no result "
    "of it is known here",
    "by hand": "once, by one of the authors",
    "nobody": "it may work; nobody has tried",
}
"""Who runs hookbus, and what the page says of each."""

HEAD: Final = """\
# Where it runs

This page is made by `python -m tests.where_it_runs --write` from `tests/where_it_runs.tsv`.
What is not in the table was not run.
"""


class Row(NamedTuple):
    """One thing that was run, or that nobody has run."""

    python: str
    platform: str
    server: str
    what: str
    by: str


def rows() -> list[Row]:
    """Return every row, in the order of the file.

    Raises:
        ValueError: if a row has another number of fields, or nobody knows who runs it.
    """
    with ROWS.open(newline="", encoding="utf-8") as lines:
        _, *found = csv.reader(lines, delimiter="\t")
    for fields in found:
        if len(fields) != len(Row._fields) or fields[-1] not in RUNNERS:
            raise ValueError(f"{ROWS.name}: {fields} is not a row: {', '.join(Row._fields)}")
    return [Row(*fields) for fields in found]


def page() -> str:
    """Return the text of the page."""
    table = ["| Python | platform | server | what | by whom |", "|---|---|---|---|---|"]
    table += [f"| {' | '.join(row)} |" for row in rows()]
    used = {row.by for row in rows()}
    runners = [f"- {name}: {about}." for name, about in RUNNERS.items() if name in used]
    return "\n".join([HEAD, *table, "", "By whom:", "", *runners, ""])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
