"""The page "Mistakes, and what hookbus says" says what hookbus says.

The page is written by hand. Each of its rows is a mistake that is made here; where it is told, and
in which words, is read from the page and compared to what was said: an `…` stands for anything.
"""

import gc
import re
import sys
from pathlib import Path

import pytest

from . import (
    arounds,
    asking,
    decorating,
    names,
    naming,
    observers,
    overrides,
    questions,
    senders,
    streams,
    unknowable,
    verdicts,
)
from ._told import all_told

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "mistakes.md").read_text(encoding="utf-8")
UNKNOWN = unknowable.TOPIC
TOPICS = [
    each.TOPIC
    for each in (
        asking, verdicts, arounds, senders, names, decorating, naming, observers, overrides,
        streams, questions, unknowable,
    )
]  # fmt: skip
MADE = {(topic.title, row): make for topic in TOPICS for row, make in topic.made.items()}
PLACES = {"decorating", "connecting", "warning", "start-up", "first call", "log", "report()"}


def rows_of(page):
    """Return the cells of each row of a page, by its heading and its first cell."""
    rows, heading = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif heading and line.startswith("| "):
            row, *cells = line.strip("| ").split(" | ")
            rows[heading, row.strip()] = [cell.strip() for cell in cells]
    return {key: cells for key, cells in rows.items() if key[1] != "you write"}


ROWS = rows_of(PAGE)
TOLD = [key for key in ROWS if key[0] != UNKNOWN.title]


def quoted(cell):
    """Return what stands in a cell as code."""
    ticks = re.fullmatch(r"(`+) ?(.*?) ?\1", cell)
    assert ticks is not None, f"what is said is to be code: {cell}"
    return ticks[2]


def pattern_of(words):
    return ".*".join(re.escape(part) for part in words.split("…"))


def test_every_row_of_the_page_is_made_here_and_every_mistake_made_here_is_on_the_page():
    assert list(ROWS) == list(MADE)


def test_there_are_forty_rows_and_three_that_nobody_can_know():
    assert len(TOLD) >= 40 and 1 <= len(UNKNOWN.made) <= 3


@pytest.fixture(autouse=True)
def _no_garbage_of_others():
    """Keep what other tests left behind from dying in a test: the log would say so there."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.seconds
@pytest.mark.parametrize("key", TOLD, ids=" - ".join)
def test_a_mistake_is_told_where_the_page_says_and_in_its_words(key, monkeypatch):
    # At the end of the stack the hook of pytest, which is a function of Python, fails itself.
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    told, words = ROWS[key]
    places = re.split(r", | and ", told.replace("`", ""))
    said, words = all_told(MADE[key]), quoted(words)
    assert PLACES.issuperset(places) and len(words.replace("…", "")) >= 15
    assert said.keys() - {"report()"} <= {*places}, "it is told in another place"
    for place in places:
        lines = said.get(place, [])
        assert all("\n" not in line for line in lines)
        assert any(re.fullmatch(pattern_of(words), line) for line in lines), (place, said)


@pytest.mark.parametrize("row", UNKNOWN.made)
def test_nothing_is_said_of_what_hookbus_cannot_know(row):
    assert all_told(UNKNOWN.made[row]) == {}
    assert len(ROWS[UNKNOWN.title, row]) == 1, "the page says what to do instead"


def test_what_a_type_checker_finds_is_among_the_wrong_uses_that_are_checked():
    uses = (ROOT / "tests" / "typing" / "wrong_uses.py").read_text()
    wrong = {
        line.partition("  # wrong")[0].strip() for line in uses.splitlines() if "# wrong" in line
    }
    listed = re.findall(r"^- `(.+?)`", PAGE, re.M)
    assert len(listed) >= 5 and {*listed} <= wrong


def test_a_page_that_lies_is_found():
    page = "## A\n\n| you write | told | what |\n|---|---|---|\n| `x | y`? | log | `…a` |\n"
    assert rows_of(page.replace("x | y", "x")) == {("A", "`x`?"): ["log", "`…a`"]}
    assert re.fullmatch(pattern_of("a (b)…"), "a (b) c") and quoted("`` `x` y ``") == "`x` y"
    assert not re.fullmatch(pattern_of("a…d"), "a (b) c")
