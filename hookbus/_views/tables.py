"""Rows as tables, in text and in HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return columns of text; one that says nothing is left out."""
    cells_of = {
        name: ["" if row[name] is None else printable(str(row[name])) for row in rows]
        for name in rows[0]
    }
    return {name: cells for name, cells in cells_of.items() if any(cells)}


def text_table(columns: dict[str, list[str]]) -> str:
    widths = {name: max(len(name), *map(len, cells)) for name, cells in columns.items()}
    lines = [list(columns), *zip(*columns.values())]
    return "\n".join(
        "  " + "  ".join(c.ljust(w) for c, w in zip(line, widths.values())).rstrip()
        for line in lines
    )


def html_table(columns: dict[str, list[str]]) -> str:
    head = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    lines = (
        "".join(f"<td>{escaped(cell)}</td>" for cell in line) for line in zip(*columns.values())
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def printable(text: str) -> str:
    """Return text on one line, with whatever would steer a terminal, turn the line around or break
    XML written out.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def escaped(text: str) -> str:
    """Return text for HTML and for XML; its lines stay lines."""
    return html.escape("\n".join(map(printable, text.split("\n"))))
