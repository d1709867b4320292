"""Drops old records. The remaining chain stays valid, and a new record notes the dropped
records."""

from __future__ import annotations

import math
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

import attrs

from .. import HookError
from .._ground.numbers import is_number
from ._chain import Row, row_of
from ._checkpoint import Checkpoint, check_private_key
from ._file import shrink
from ._writer import Writer

SLICE: Final = 5000
"""The maximum number of records to drop in one transaction. It is small, so that other writers wait
only briefly.
"""


@attrs.frozen
class Retained:
    """The result of `retain`.

    Attributes:
        records: the number of dropped records.
        checkpoint: a checkpoint of the last dropped record, signed if a key was passed, or None if
            nothing was dropped. Store this checkpoint's string instead of earlier checkpoints,
            which can no longer be verified.
    """

    records: int
    checkpoint: Checkpoint | None


def retain(
    path: Path, writer: Writer, days: float | None, most: int | None, key: str | bytes | None
) -> Retained:
    """Drop the oldest records of a file, and return their number and a checkpoint.

    Raises:
        HookError: for an invalid limit or key, before anything is dropped; or if the file cannot be
            written.
    """
    _check(days, most)
    if key is not None:
        check_private_key(key)
    through, dropped = 0, 0
    checkpoint: Checkpoint | None = None

    def drop(db: sqlite3.Connection) -> list[Row]:
        nonlocal through, dropped, checkpoint
        if not through:
            through = _limit(db, days, most)
        file, expired = db.execute("SELECT file, expired FROM head").fetchone()
        if expired >= through:  # nothing to drop, or another process dropped it
            return []
        last = min(through, expired + SLICE)
        found = db.execute("SELECT hash FROM chain WHERE seq = ?", [last]).fetchone()
        if found is None:
            raise HookError(f"record {last} is missing: run verify() to see all changes")
        (hash,) = found
        dropped += db.execute("DELETE FROM chain WHERE seq <= ?", [last]).rowcount
        db.execute("UPDATE head SET expired = ?, expired_hash = ?", [last, hash])
        checkpoint = Checkpoint(file, last, hash.hex(), is_dropped=True)
        return [row_of(_said(last, hash))]

    writer.transact(drop)
    while checkpoint is not None and checkpoint.seq < through:
        before = checkpoint
        writer.transact(drop)
        if checkpoint is before:
            break
    if checkpoint is None:
        return Retained(0, None)
    shrink(path)
    return Retained(dropped, checkpoint if key is None else checkpoint.signed(key))


def _limit(db: sqlite3.Connection, days: float | None, most: int | None) -> int:
    """Return the number of the last record to drop."""
    head, expired = db.execute("SELECT seq, expired FROM head").fetchone()
    through = int(expired)
    if days is not None:
        through = max(through, _older(db, time.time() - days * 86_400, head))
    if most is not None:
        through = max(through, _over(db, most, head))
    needed = db.execute("SELECT min(seq) FROM cursors").fetchone()[0]
    return through if needed is None else min(through, needed)


def _older(db: sqlite3.Connection, moment: float, head: int) -> int:
    """Return the number of the last record before the first record of this time or later."""
    first = db.execute(
        "SELECT seq FROM chain WHERE +time >= ? ORDER BY seq LIMIT 1", [moment]
    ).fetchone()
    return head if first is None else first[0] - 1


def _over(db: sqlite3.Connection, most: int, head: int) -> int:
    """Return the number of the last record to drop, so that the remaining records fit into this
    size.
    """
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    total = (pages - free) * size
    texts, count = db.execute("SELECT total(length(data)), count(*) FROM chain").fetchone()
    if total <= most or not count:
        return 0
    each, remaining = (total - texts) / count, float(most)
    for seq, length in db.execute("SELECT seq, length(data) FROM chain ORDER BY seq DESC"):
        remaining -= each + length
        if remaining < 0:
            return int(seq)
    return 0


def _said(through: int, hash: bytes) -> dict[str, Any]:
    return {
        "event": "Retained", "call_id": 0, "parent_id": None, "hook": "", "sender": "journal",
        "at": time.time(), "baggage": {}, "through": through, "hash": hash.hex(),
    }  # fmt: skip


def _check(days: Any, most: Any) -> None:
    if days is None and most is None:
        raise HookError("retain() needs a limit: pass days=, bytes= or both")
    for name, value in (("days", days), ("bytes", most)):
        if value is not None and not (is_number(value) and 0 <= value < math.inf):
            raise HookError(f"{name}={value!r:.40} must be a number of at least 0")
