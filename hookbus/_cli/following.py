"""Follows a journal to which other processes write, and prints calls as they end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from .calls import Wanted
from .describing import call_line, line_of
from .screen import as_json

if TYPE_CHECKING:
    from ..journal import Journal, Record

PAUSE_SECONDS: Final = 0.2
MOST_OPEN: Final = 100_000
"""The maximum number of unfinished calls for which receiver events are kept."""


def records_from(journal: Journal, after: int) -> Iterator[list[Record]]:
    """Yield lists of new records of a journal, at most 5,000 at a time. Yield an empty list if no
    new records were written.
    """
    while True:
        new = list[Any]()
        for record in journal.records(after=after):
            new.append(record)
            if len(new) >= 5000:
                break
        if new:
            after = new[-1].seq
        yield new
        if len(new) < 5000:
            time.sleep(PAUSE_SECONDS)


def follow(journal: Journal, wanted: Wanted, after: int, *, is_json: bool) -> None:
    """Print calls as they end, until the command is interrupted."""
    marks: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for new in records_from(journal, after):
        lines = []
        for record in new:
            data, call = record.data, (record.run, record.data.get("call_id", 0))
            if record.type == "hookbus.finished":
                own = marks.pop(call, [])
                if wanted.has(data, own):
                    lines.append(_line(record.run, data, own, is_json=is_json))
            elif data.get("call_id") and "receiver" in data:
                marks.setdefault(call, []).append(data)
                if len(marks) > MOST_OPEN:
                    marks.pop(next(iter(marks)))
            elif record.type == "hookbus.switched" and wanted.receiver in (None, data["receiver"]):
                lines.append(as_json(data) if is_json else line_of(data))
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()


def _line(run: str, data: dict[str, Any], marks: list[dict[str, Any]], *, is_json: bool) -> str:
    if is_json:
        return as_json({"run": run, **data, "receivers": marks})
    return call_line(data, marks)
