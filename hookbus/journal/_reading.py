"""Reading a journal: some records at a time, so that nobody who writes has to wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .. import HookError
from ._checkpoint import Checkpoint
from ._file import reading
from ._words import Record

PAGE: Final = 1000

_RECORDS: Final = (
    "SELECT chain.seq, runs.id, source, type, hook, time, data "
    "FROM chain JOIN runs ON runs.number = chain.run WHERE "
)


def records(path: Path, conditions: dict[str, Any], after: int = 0) -> Iterator[Record]:
    """Yield the records that a file has behind this one, in their order.

    Args:
        path: the file.
        conditions: pieces of SQL that have to hold, with the value that each has one `?` for.
        after: the number of a record.
    """
    where = " AND ".join(["chain.seq > ?", *conditions])
    statement = f"{_RECORDS}{where} ORDER BY chain.seq LIMIT {PAGE}"
    while True:
        with reading(path) as db:
            rows = db.execute(statement, [after, *conditions.values()]).fetchall()
        for row in rows:
            after = row[0]
            yield record(*row)
        if len(rows) < PAGE:
            return


def unfinished(path: Path) -> list[Record]:
    """Return the intents that have no outcome."""
    with reading(path) as db:
        rows = db.execute(
            f"{_RECORDS} type = 'intent' AND attempt IS NOT NULL AND NOT EXISTS ("
            "SELECT 1 FROM chain AS ended WHERE ended.run = chain.run "
            "AND ended.call_id = chain.call_id AND ended.attempt = chain.attempt "
            "AND ended.type = 'outcome') ORDER BY chain.seq"
        ).fetchall()
    return [record(*row) for row in rows]


def head(path: Path) -> Checkpoint:
    """Return the head of the chain."""
    with reading(path) as db:
        file, seq, hash = db.execute("SELECT file, seq, hash FROM head").fetchone()
    return Checkpoint(file, seq, hash.hex())


def record(
    seq: int, run: str, source: str, type: str, hook: str, time: float, text: str
) -> Record:
    """Return a record, made of what stands in the file.

    Raises:
        HookError: if that is none.
    """
    try:
        data = json.loads(text)
        surrounding = data.get("surrounding") or {}
    except (ValueError, AttributeError, TypeError):
        raise HookError(f"record {seq} was changed: verify() says what else was") from None
    return Record(
        seq=seq, id=f"{run}-{seq}", source=source, type=f"hookbus.{type}", subject=hook, time=time,
        data=data, run=run, surrounding=surrounding,
    )  # fmt: skip
