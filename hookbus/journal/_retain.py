"""Dropping what is old: the chain goes on from where it was cut, and says so."""

from __future__ import annotations

import math
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from .. import HookError
from ._chain import Row, row_of
from ._file import shrink
from ._writer import Writer

SLICE: Final = 5000
"""So many records are dropped in one transaction: whoever wants to write gets to."""


def retain(path: Path, writer: Writer, days: float | None, most: int | None) -> int:
    """Drop the oldest records of a file, and return how many.

    Raises:
        HookError: for limits that are none, or if the file cannot be written.
    """
    _check(days, most)
    last, dropped = SLICE, 0

    def cut(db: sqlite3.Connection) -> list[Row]:
        return _cut(db, days, most)

    def drop(db: sqlite3.Connection) -> list[Row]:
        nonlocal last, dropped
        last = db.execute(
            "DELETE FROM chain WHERE seq IN (SELECT chain.seq FROM chain, head "
            f"WHERE chain.seq <= expired ORDER BY chain.seq LIMIT {SLICE})"
        ).rowcount
        dropped += last
        return []

    writer.transact(cut)
    while last == SLICE:
        writer.transact(drop)
    if dropped:
        shrink(path)
    return dropped


def _cut(db: sqlite3.Connection, days: float | None, most: int | None) -> list[Row]:
    """Say up to where the chain is dropped, in its head and in a record."""
    head, expired = db.execute("SELECT seq, expired FROM head").fetchone()
    through = expired
    if days is not None:
        through = max(through, _older(db, time.time() - days * 86_400, head))
    if most is not None:
        through = max(through, _over(db, most, head))
    needed = db.execute("SELECT min(seq) FROM cursors").fetchone()[0]
    through = through if needed is None else min(through, needed)
    if through <= expired:
        return []
    hash = db.execute("SELECT hash FROM chain WHERE seq = ?", [through]).fetchone()[0]
    db.execute("UPDATE head SET expired = ?, expired_hash = ?", [through, hash])
    return [row_of(_said(through, hash))]


def _older(db: sqlite3.Connection, moment: float, head: int) -> int:
    """Return the last record of those that are all older than this."""
    first = db.execute(
        "SELECT seq FROM chain WHERE +time >= ? ORDER BY seq LIMIT 1", [moment]
    ).fetchone()
    return head if first is None else first[0] - 1


def _over(db: sqlite3.Connection, most: int, head: int) -> int:
    """Return the last record of those that are too many for so many bytes."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    total = (pages - free) * size
    texts, count = db.execute("SELECT total(length(data)), count(*) FROM chain").fetchone()
    if total <= most or not count:
        return 0
    each, room = (total - texts) / count, float(most)
    for seq, length in db.execute("SELECT seq, length(data) FROM chain ORDER BY seq DESC"):
        room -= each + length
        if room < 0:
            return int(seq)
    return 0


def _said(through: int, hash: bytes) -> dict[str, Any]:
    return {
        "event": "Retained", "call_id": 0, "parent_id": None, "hook": "", "sender": "journal",
        "at": time.time(), "surrounding": {}, "through": through, "hash": hash.hex(),
    }  # fmt: skip


def _check(days: Any, most: Any) -> None:
    if days is None and most is None:
        raise HookError("retain() keeps all: give days=, bytes= or both")
    for name, value in (("days", days), ("bytes", most)):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value < math.inf):
            raise HookError(f"{name}={value!r:.40} must be a number of at least 0")
