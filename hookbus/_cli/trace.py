"""`hookbus trace`: write the calls of a journal for trace viewers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import HookError
from .calls import EVERY, Wanted
from .describing import did
from .reading import ANY_FILE, Read, check_place
from .screen import TABLES, Shown, print_json, progress, say

if TYPE_CHECKING:
    from ..journal import Journal

_BAD = {"blocked": "terrible", "raised": "bad", "cancelled": "grey", "paused": "grey"}
"""The name that trace viewers use for the color of a failed call."""


def trace(
    *, out: Path = Path("trace.json"), wanted: Wanted = EVERY, read: Read = ANY_FILE,
    shown: Shown = TABLES,
) -> None:  # fmt: skip
    """Write calls as a trace for ui.perfetto.dev and chrome://tracing.

    Args:
        out: the file to write. An existing file is replaced.
    """
    journal, wanted = read.opened(), wanted.checked()
    if wanted.outcome == "unfinished":
        raise HookError("an unfinished call has no duration: use hookbus log --outcome unfinished")
    if out.exists() and out.samefile(journal.path):
        raise HookError(f"{out} is the journal itself: choose another file")
    check_place(out)
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            count = 0
            for count, event in enumerate(_events(journal, wanted), 1):
                file.write(f"{'[' if count == 1 else ','}\n{json.dumps(event)}")
            file.write("\n]\n" if count else "[]\n")
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    if shown.json:
        print_json({"file": str(out), "events": count})
    else:
        say(f"{count} events in {out}: open it in ui.perfetto.dev or chrome://tracing")


def _events(journal: Journal, wanted: Wanted) -> Iterator[dict[str, Any]]:
    from ..journal._file import reading

    with reading(journal.path) as db, progress() as bar:
        turns = _turns(db)
        found, values = wanted.conditions()
        if wanted.receiver is not None or wanted.outcome == "failed":
            found.append(
                "(run, call_id) IN (SELECT run, call_id FROM chain WHERE receiver IS NOT NULL "
                "AND receiver = ifnull(?, receiver) AND type = ifnull(?, type))"
            )
            values += [wanted.receiver, "failed" if wanted.outcome == "failed" else None]
        where = " AND ".join(found)
        total = db.execute(f"SELECT count(*) FROM chain WHERE {where}", values).fetchone()[0]
        work = bar.add_task("writing the trace", total=total)
        lanes: dict[int, list[list[float]]] = {}
        for number, source, pid in db.execute("SELECT number, source, pid FROM runs"):
            lanes[number] = []
            yield {"ph": "M", "name": "process_name", "pid": number, "tid": 0,
                   "args": {"name": f"{source} ({pid})"}}  # fmt: skip
        rows = db.execute(
            "SELECT run, call_id, hook, time - seconds, seconds, outcome, data FROM chain "
            f"WHERE {where} ORDER BY time - seconds", values,
        )  # fmt: skip
        for number, call_id, hook, began, seconds, outcome, data in rows:
            bar.advance(work)
            yield {
                "ph": "X", "name": hook, "cat": outcome, "pid": number,
                "tid": _lane(lanes[number], began, began + seconds), "ts": began * 1e6,
                "dur": seconds * 1e6, "args": _arguments(call_id, json.loads(data), turns[number]),
                **({"cname": _BAD[outcome]} if outcome in _BAD else {}),
            }  # fmt: skip


def _turns(db: sqlite3.Connection) -> dict[int, dict[int, list[str]]]:
    """Return descriptions of the receivers' actions, by run and call."""
    found: dict[int, dict[int, list[str]]] = {
        number: {} for (number,) in db.execute("SELECT number FROM runs")
    }
    rows = "SELECT run, call_id, data FROM chain WHERE receiver IS NOT NULL ORDER BY seq"
    for number, call_id, data in db.execute(rows):
        found[number].setdefault(call_id, []).append(did(json.loads(data)))
    return found


def _arguments(call_id: int, data: dict[str, Any], turns: dict[int, list[str]]) -> dict[str, Any]:
    arguments = {"call": call_id, "of": data["sender"], "parent": data["parent_id"],
            "receivers": turns.get(call_id), **(data.get("baggage") or {})}  # fmt: skip
    return {name: value for name, value in arguments.items() if value is not None}


def _lane(lanes: list[list[float]], began: float, ended: float) -> int:
    """Return the first lane in which the call overlaps no other call, or is nested in another
    call."""
    for number, ends in enumerate(lanes):
        while ends and ends[-1] <= began:
            ends.pop()
        if not ends or ended <= ends[-1]:
            ends.append(ended)
            return number
    lanes.append([ended])
    return len(lanes) - 1
