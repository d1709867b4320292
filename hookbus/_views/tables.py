"""Format rows as tables, in text and in HTML. Text tables use the width of the terminal."""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

WIDTH: Final = 100
"""The width of text that is not printed to a terminal, in columns."""

_LOCAL: Final = re.compile(r"[\w.<>]+\.<locals>\.")
_PLACE: Final = re.compile(r"(?:/|[A-Za-z]:\\)[^\s:()]+(?=:\d|$)")
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Characters that Unicode counts as printable although they are invisible."""


def width() -> int:
    """Return the width of the terminal, or a default width if stdout is not a terminal."""
    try:
        is_terminal = sys.stdout.isatty()
    except (AttributeError, ValueError):  # stdout is missing or closed
        is_terminal = False
    return max(shutil.get_terminal_size().columns, 40) if is_terminal else WIDTH


def columns(rows: Sequence[dict[str, Any]], *, is_whole: bool = False) -> dict[str, list[str]]:
    """Return the columns as text, without columns that contain only empty values (None, 0, False,
    empty string). With `is_whole`, paths are not shortened.
    """
    write = printable if is_whole else brief
    texts = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: ["" if value is None or value is False else write(str(value)) for value in values]
        for name, values in texts.items() if any(values)
    }  # fmt: skip


def once(cells: list[str]) -> list[str]:
    """Return a column without a value that repeats the value above it."""
    return ["" if above == cell else cell for above, cell in zip(["", *cells], cells)]


def text_table(columns: dict[str, list[str]]) -> str:
    """Format a table as text. Wide columns are folded to fit the available width."""
    rows = [tuple(columns), *zip(*columns.values())]
    widths = _fitted([*zip(*rows)])
    lines: list[str] = []
    for row in rows:
        cells = [
            textwrap.wrap(cell, size, break_on_hyphens=False) for cell, size in zip(row, widths)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (part.ljust(size) for part, size in zip(parts, widths))
            lines.append("  " + "  ".join(padded).rstrip())
    return "\n".join(lines)


def _fitted(columns: list[tuple[str, ...]]) -> list[int]:
    """Return the width of each column, whose cells may be folded at spaces or inside words."""
    space = width()
    widths = [min(max(map(len, cells)), space) for cells in columns]
    words = [max(len(word) for cell in cells for word in cell.split()) for cells in columns]
    while sum(widths) + 2 * len(widths) > space:
        places = [place for place, size in enumerate(widths) if size > max(words[place], 8)]
        places = places or [place for place, size in enumerate(widths) if size > 8]
        if not places:
            break
        widths[max(places, key=lambda place: widths[place])] -= 1
    return widths


def text_items(items: Sequence[str]) -> str:
    """Format sentences as a list, folded to the available width."""
    return "\n".join(
        textwrap.fill(
            printable(item), width(), initial_indent="  - ", subsequent_indent="    ",
            break_on_hyphens=False,
        )
        for item in items
    )  # fmt: skip


def html_table(columns: dict[str, list[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = (
        "".join(f"<td>{escape(cell)}</td>" for cell in line) for line in zip(*columns.values())
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def brief(text: str) -> str:
    """Return text on one line, with short paths and without the `<locals>` parts of names."""
    return printable(_PLACE.sub(lambda found: _near(found[0]), _LOCAL.sub("", text)))


def _near(path: str) -> str:
    """Return a path relative to the current folder or to site-packages, or its last parts."""
    try:
        here = os.path.relpath(path)
    except (OSError, ValueError):  # the folder was deleted, or is on another drive
        here = os.pardir
    if not here.startswith(os.pardir):
        return here
    parts = path.replace("\\", "/").split("/")
    if "site-packages" in parts:
        return "/".join(parts[parts.index("site-packages") + 1 :])
    return path if len(parts) <= 4 else "…/" + "/".join(parts[-2:])


def printable(text: str) -> str:
    """Return text on one line. Characters that could control a terminal, reverse the line, break
    XML or be invisible are escaped.

    Valid JSON stays valid and keeps its meaning.
    """
    if text.isprintable() and (text.isascii() or not _UNSEEN.search(text)):
        return text
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    if char.isprintable() and not _UNSEEN.match(char):
        return char
    if char < " ":
        return ascii(char)[1:-1]
    halves = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))


def escape(text: str) -> str:
    """Return text escaped for HTML and XML. Line breaks are kept."""
    return html.escape(escaped_lines(text))


def escaped_lines(text: str) -> str:
    """Return text as `printable` does, but keep line breaks."""
    return "\n".join(map(printable, text.split("\n")))
