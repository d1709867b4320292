"""Prints the output of a command, as tables that fit the terminal or as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .._views.tables import WIDTH, brief, columns, printable

COLOURS: Final = {
    "guard": "bold", "observe": "dim", "blocked": "bold red", "failed": "bold magenta",
    "raised": "bold magenta", "refused": "bold red", "denied": "bold red", "changed": "yellow",
    "pending": "bold yellow", "returned": "green", "approved": "green", "handed on": "green",
    "loaded": "green", "cancelled": "yellow", "paused": "yellow",
    "disabled": "yellow", "fine": "green", "unfinished": "yellow",
}  # fmt: skip
"""The styles of cells that contain exactly one of these words."""


Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""An option without a value."""

Several = Annotated[Sequence[str], Parameter(consume_multiple=False, show_default=False)]
"""An option that may be repeated."""


@Parameter(name="*")
@attrs.frozen
class Shown:
    """The options for the output of a command."""

    json: Flag = False
    """print JSON instead of text."""
    traceback: Flag = False
    """show the full traceback of an error, as HOOKBUS_TRACEBACK=1 does."""


TABLES: Final = Shown()
"""The default output."""


def console() -> Console:
    """Return the console for output. Its width is the width of the terminal, or COLUMNS if this
    variable is set.
    """
    is_wide = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(file=sys.stdout, width=None if is_wide else WIDTH, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON. A value that cannot be serialized is printed as a string.
    """
    print(as_json(value))


def as_json(value: Any) -> str:
    """Serialize a value to one line of JSON. Characters that stdout cannot encode are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    can_show_all = encoding.lower().startswith("utf")
    return json.dumps(value, default=str, ensure_ascii=not can_show_all)


def say(text: str, style: str = "") -> None:
    """Print a line of text, with control characters escaped."""
    console().print(Text(printable(text), style=style), soft_wrap=True)


def table_of(
    rows: Sequence[Mapping[str, Any]], title: str | None = None, *, is_whole: bool = False
) -> Table:
    """Return rows as a table, with a column for each key that has a value in at least one row."""
    table = Table(
        box=box.SIMPLE_HEAD, title=title and Text(brief(title), style="bold"),
        title_justify="left", pad_edge=False, padding=(0, 1, 0, 0), header_style="bold",
    )  # fmt: skip
    shown = columns([dict(row) for row in rows], is_whole=is_whole)
    for name, cells in shown.items():
        is_number = all(type(row[name]) in (int, float, type(None)) for row in rows)
        table.add_column(
            name, justify="right" if is_number else "left", overflow="fold",
            min_width=min(16, max(len(word) for cell in (name, *cells) for word in cell.split())),
        )  # fmt: skip
    for line in zip(*shown.values()):
        texts = ("yes" if cell == "True" else cell for cell in line)
        table.add_row(*(Text(cell, style=COLOURS.get(cell, "")) for cell in texts))
    return table


def print_rows(
    rows: Sequence[Mapping[str, Any]], empty: str, title: str | None = None, *,
    is_whole: bool = False,
) -> None:  # fmt: skip
    """Print rows as a table, or a sentence if there are no rows."""
    if rows:
        console().print(table_of(rows, title, is_whole=is_whole))
    else:
        say(empty)


def print_items(items: Iterable[str], style: str = "") -> None:
    """Print sentences as a list, wrapped to the width of the output."""
    grid = Table.grid(padding=(0, 1))
    for item in items:
        grid.add_row("-", Text(brief(item), style=style))
    console().print(grid)


def progress() -> Progress:
    """Return a progress bar. It is shown on stderr if this is a terminal, and disappears when the
    work is done.
    """
    screen = Console(stderr=True)
    parts = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    return Progress(*parts, console=screen, transient=True, disable=not screen.is_terminal)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that work is in progress."""
    with progress() as bar:
        bar.add_task(what, total=None)
        yield


def clock(seconds: float, *, is_long: bool = False) -> str:
    """Return a local time of day, with its date if `is_long`."""
    shape = "%Y-%m-%d %H:%M:%S" if is_long else "%H:%M:%S"
    return time.strftime(shape, time.localtime(seconds)) + f".{int(seconds % 1 * 1000):03}"


def lasted(seconds: float) -> str:
    """Return a duration as text, in a suitable unit."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
