"""The table of `docs/explanation/attacks.md` as a bar chart."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from .drawing import bar, document, text

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "explanation" / "attacks.md"
ROW: Final = re.compile(r"(?:all)? +(\S.*?) +(\d+/\d+) +(\d+/\d+) +(\d+)/(\d+) ")
LEFT, WIDTH, BAR, GROUP = 130, 460, 14, 50


class Row(NamedTuple):
    """A policy under all attacks on all suites.

    Attributes:
        policy: its name.
        succeed: the share of attacks that succeed.
        done: the share of the user's tasks that are done under attack.
    """

    policy: str
    succeed: float
    done: float


def rows() -> list[Row]:
    """Return the rows of the page that are about all suites."""
    table = PAGE.read_text(encoding="utf-8").partition("\nall ")[2].partition("```")[0]
    found = [ROW.match(line) for line in f"all {table}".splitlines()]
    return [
        Row(row[1], int(row[4]) / int(row[5]), _share(row[3])) for row in found if row is not None
    ]


def _share(fraction: str) -> float:
    part, whole = map(int, fraction.split("/"))
    return part / whole


def picture() -> str:
    """Return the chart."""
    parts = [
        text(16, 26, "Attacks of AgentDojo under each policy", "title"),
        bar(16, 38, 10, 10, "bad"),
        text(32, 47, "attacks that succeed (shorter is better)", "small"),
        bar(276, 38, 10, 10, "good"),
        text(292, 47, "the user's tasks done under attack (longer is better)", "small"),
    ]
    top = 66
    for row in rows():
        parts.append(text(LEFT - 10, top + 19, row.policy, anchor="end"))
        for kind, share in (("bad", row.succeed), ("good", row.done)):
            parts.append(bar(LEFT, top, share * WIDTH, BAR, kind))
            parts.append(text(LEFT + share * WIDTH + 6, top + 11, f"{share:.1%}", "small"))
            top += BAR + 2
        top += GROUP - 2 * (BAR + 2)
    label = "; ".join(
        f"{row.policy}: {row.succeed:.1%} of attacks succeed, {row.done:.1%} of tasks done"
        for row in rows()
    )
    return document(LEFT + WIDTH + 70, top - 8, label, parts)
