"""Reads a journal in pages, so that writers never wait for readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from .. import HookError
from .._ground.errors import did_you_mean
from .._ground.numbers import is_number
from ..events import KINDS
from ._checkpoint import Checkpoint
from ._file import reading
from ._words import Record

PAGE: Final = 1000

TYPES: Final = (*(kind.__name__.lower() for kind in KINDS), "intent", "outcome", "retained")

_RECORDS: Final = (
    "SELECT chain.seq, runs.id, source, type, hook, time, data "
    "FROM chain JOIN runs ON runs.number = chain.run WHERE "
)


class Wanted(NamedTuple):
    """The conditions for the records to read: SQL conditions, the values for their placeholders,
    and the earliest time.
    """

    conditions: dict[str, Any]
    since: float | None

    @classmethod
    def of(
        cls, hook: str | None, type: str | None, since: float | None, call: tuple[str, int] | None
    ) -> Self:
        """Return the conditions for the arguments of `Journal.records`.

        Raises:
            HookError: if the type is unknown or the time is invalid.
        """
        # The `+` makes SQLite search by record number only, which gives the right order.
        conditions: dict[str, Any] = {}
        if hook is not None:
            conditions["+hook = ?"] = hook
        if type is not None:
            kind = str(type).removeprefix("hookbus.")
            if kind not in TYPES:
                raise HookError(f"{type!r:.40} is not a record type{did_you_mean(kind, TYPES)}")
            conditions["+type = ?"] = kind
        if since is not None:
            if not is_number(since):
                raise HookError(f"since={since!r:.40} must be a Unix time, such as time.time()")
            conditions["+time >= ?"] = since
        if call is not None:
            conditions["chain.run = (SELECT number FROM runs WHERE id = ?)"] = call[0]
            conditions["call_id = ?"] = call[1]
        return cls(conditions, since)


def records(path: Path, wanted: Wanted, after: int = 0) -> Iterator[Record]:
    """Yield the selected records of a file with a higher number, in order."""
    where = " AND ".join(["chain.seq > ?", *wanted.conditions])
    statement = f"{_RECORDS}{where} ORDER BY chain.seq LIMIT {PAGE}"
    if wanted.since is not None:
        with reading(path) as db:
            first = db.execute("SELECT min(seq) FROM chain WHERE time >= ?", [wanted.since])
            after = max(after, (first.fetchone()[0] or 0) - 1)
    while True:
        with reading(path) as db:
            rows = db.execute(statement, [after, *wanted.conditions.values()]).fetchall()
        for row in rows:
            after = row[0]
            yield record(*row)
        if len(rows) < PAGE:
            return


def unfinished(path: Path) -> list[Record]:
    """Return the intents without an outcome."""
    # The `+` makes SQLite use the index of attempts instead of a scan of all records.
    with reading(path) as db:
        rows = db.execute(
            f"{_RECORDS} type = 'intent' AND NOT EXISTS ("
            "SELECT 1 FROM chain AS ended WHERE ended.run = chain.run "
            "AND ended.call_id = chain.call_id AND ended.attempt = chain.attempt "
            "AND ended.type = 'outcome') ORDER BY +chain.seq"
        ).fetchall()
    return [record(*row) for row in rows]


def head(path: Path) -> Checkpoint:
    """Return the head of the chain.

    Raises:
        HookError: if the head is missing.
    """
    with reading(path) as db:
        found = db.execute("SELECT file, seq, hash FROM head").fetchall()
    if [[type(each) for each in row] for row in found] != [[str, int, bytes]]:
        raise HookError(f"{path} has lost the head of its chain: run verify() to see all changes")
    file, seq, hash = found[0]
    return Checkpoint(file, seq, hash.hex())


def record(
    seq: int, run: str, source: str, type: str, hook: str, time: float, text: str
) -> Record:
    """Return a record from its row in the file.

    Raises:
        HookError: if the row is invalid.
    """
    try:
        data = json.loads(text)
        baggage = data.get("baggage") or {}
    except (ValueError, AttributeError, TypeError):
        raise HookError(f"record {seq} was changed: run verify() to see all changes") from None
    return Record(
        seq=seq, id=f"{run}-{seq}", source=source, type=f"hookbus.{type}", subject=hook, time=time,
        data=data, run=run, baggage=baggage,
    )  # fmt: skip
