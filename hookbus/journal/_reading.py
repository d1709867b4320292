"""Reading a journal: some records at a time, so that nobody who writes has to wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from .. import HookError
from ..events import KINDS
from ..exceptions import did_you_mean
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
    """Which records are wanted: pieces of SQL that have to hold, each with the value it has a `?`
    for, and the moment before which none is.
    """

    conditions: dict[str, Any]
    since: float | None

    @classmethod
    def of(
        cls, hook: str | None, type: str | None, since: float | None, call: tuple[str, int] | None
    ) -> Self:
        """Return what `Journal.records` was asked for.

        Raises:
            HookError: for a type that there is not, or a moment that is none.
        """
        # By its number alone a record is found in the order that is wanted; the `+` says so.
        conditions: dict[str, Any] = {}
        if hook is not None:
            conditions["+hook = ?"] = hook
        if type is not None:
            kind = str(type).removeprefix("hookbus.")
            if kind not in TYPES:
                raise HookError(f"no record is of type {type!r:.40}{did_you_mean(kind, TYPES)}")
            conditions["+type = ?"] = kind
        if since is not None:
            if isinstance(since, bool) or not isinstance(since, (int, float)):
                raise HookError(f"since={since!r:.40} must be seconds since 1970: time.time()")
            conditions["+time >= ?"] = since
        if call is not None:
            conditions["chain.run = (SELECT number FROM runs WHERE id = ?)"] = call[0]
            conditions["call_id = ?"] = call[1]
        return cls(conditions, since)


def records(path: Path, wanted: Wanted, after: int = 0) -> Iterator[Record]:
    """Yield the records of a file that are wanted, behind the one of this number, in their order.
    """
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
    """Return the intents that have no outcome."""
    # The `+` has attempts looked through by their index, and not all records by their numbers.
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
        HookError: if there is none any more.
    """
    with reading(path) as db:
        found = db.execute("SELECT file, seq, hash FROM head").fetchall()
    if [[type(each) for each in row] for row in found] != [[str, int, bytes]]:
        raise HookError(f"{path} has no head of its chain: verify() says what else was changed")
    file, seq, hash = found[0]
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
        baggage = data.get("baggage") or {}
    except (ValueError, AttributeError, TypeError):
        raise HookError(f"record {seq} was changed: verify() says what else was") from None
    return Record(
        seq=seq, id=f"{run}-{seq}", source=source, type=f"hookbus.{type}", subject=hook, time=time,
        data=data, run=run, baggage=baggage,
    )  # fmt: skip
