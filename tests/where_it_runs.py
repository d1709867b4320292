"""Where hookbus has run: `where_it_runs.tsv` as a page of the documentation.

    python -m tests.where_it_runs            print the page
    python -m tests.where_it_runs --write    put it into docs/explanation/where-it-runs.md

A row has a Python, a platform and a server, the tests that ran there, and the runner: `.ci/run`,
`.ci/nightly`, GitHub, by hand, or `not tested`.
"""

import csv
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
ROWS: Final = ROOT / "tests" / "where_it_runs.tsv"
PAGE: Final = ROOT / "docs" / "explanation" / "where-it-runs.md"

RUNNERS: Final = {
    ".ci/run": "every change must pass `.ci/run`, on one machine with Debian 12. "
    "Python 3.14 and 3.15 are the builds of Debian `sid`",
    ".ci/nightly": "`.ci/nightly` repeats the tests of `.ci/run` with more trials, on the same "
    "machine",
    "GitHub": "`.github/workflows/ci.yml` runs these tests on GitHub. The table does not show "
    "their results",
    "by hand": "a maintainer ran the tests once",
    "not tested": "the combination may work, but it has not been tried",
}
"""The runners, and what the page says about each."""

HEAD: Final = """\
# Tested platforms

This page lists the Python versions, platforms and servers on which hookbus was tested.
Other combinations have not been tested.
`python -m tests.where_it_runs --write` generates the page from `tests/where_it_runs.tsv`.
"""


class Row(NamedTuple):
    """A run of hookbus, or one that has not been tried."""

    python: str
    platform: str
    server: str
    what: str
    by: str


def rows() -> list[Row]:
    """Return every row, in the order of the file.

    Raises:
        ValueError: if a row has another number of fields, or an unknown runner.
    """
    with ROWS.open(newline="", encoding="utf-8") as lines:
        _, *found = csv.reader(lines, delimiter="\t")
    for fields in found:
        if len(fields) != len(Row._fields) or fields[-1] not in RUNNERS:
            raise ValueError(f"{ROWS.name}: {fields} is not a row: {', '.join(Row._fields)}")
    return [Row(*fields) for fields in found]


def page() -> str:
    """Return the text of the page."""
    table = ["| Python | platform | server | what ran | runner |", "|---|---|---|---|---|"]
    table += [f"| {' | '.join(row)} |" for row in rows()]
    used = {row.by for row in rows()}
    runners = [f"- **{name}**: {about}." for name, about in RUNNERS.items() if name in used]
    return "\n".join([HEAD, *table, "", "The runners:", "", *runners, ""])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
