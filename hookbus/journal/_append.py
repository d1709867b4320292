"""Appends to the chain, with one commit and one thread at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from .. import HookError
from .._external.sqlite import code_of, message_of
from ._chain import Row, bound
from ._file import connected
from ._run import Run

Work = Callable[[sqlite3.Connection], list[Row]]
"""A function that uses the file in a transaction and returns the rows to append."""

_COLUMNS: Final = 13
_ROW: Final = f"({', '.join('?' * _COLUMNS)})"
_INSERTS: Final = {
    rows: f"INSERT INTO chain VALUES {', '.join([_ROW] * rows)}"
    for rows in (1024, 128, 16, 1)
}
"""Statements for different numbers of rows. They are limited so that other threads can run between
two statements."""

_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)


class Chain:
    """The hash chain of a journal file. Other processes may append to the same file.

    Attributes:
        run: the run of this process.
        is_committed: whether the last commit was written although it was interrupted.
    """

    is_committed = _has_begun = False

    def __init__(self, path: Path) -> None:
        self._path, self.run = path, Run()
        self._db: sqlite3.Connection | None = None
        self._damage: str | None = None
        self._synchronous = ""
        found = os.stat(path)
        self._place = found.st_dev, found.st_ino

    def begin(self) -> None:
        """Start a new run in a forked process."""
        self.run = Run()

    def commit(
        self, do: Work, *, is_full: bool, position: int | None = None, run: Run | None = None
    ) -> None:
        """Run work and append its rows in a single transaction.

        Args:
            do: the function that uses the file and returns the rows to append.
            is_full: whether the commit must survive a power failure.
            position: the position in the run's spool up to which the chain has the records after
                this commit.
            run: the run to which the rows belong; None means the run of this chain.

        Raises:
            HookError: if the transaction fails; the message states the reason.
        """
        try:
            self._commit(do, "FULL" if is_full else "NORMAL", position, run or self.run)
        except BaseException as error:
            has_ended = self._db is not None and not self._db.in_transaction
            self.is_committed = self._has_begun and has_ended
            self.disconnect()  # rolls back an uncommitted transaction
            if isinstance(error, HookError) or not isinstance(error, Exception):
                raise
            worded = message_of(self._path, error)
            if code_of(error) in _DAMAGED:
                self._damage = worded = f"{self._path} is damaged: restore it, then open it again"
            raise HookError(worded) from None

    def leave(self, *, keeps_position: bool) -> None:
        """Record that the run ended normally. Keep the run's position in its spool if the spool
        remains."""
        if self.run.number:
            with suppress(sqlite3.Error, HookError):  # then the run counts as crashed
                self.run.leave(self._connected(), keeps_position=keeps_position)
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connection. The next commit opens a new one."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def _commit(self, do: Work, synchronous: str, position: int | None, run: Run) -> None:
        self._has_begun = False
        db = self._connected()
        if synchronous != self._synchronous:
            db.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        db.execute("BEGIN IMMEDIATE")
        self._has_begun = True
        rows, number = do(db), run.number
        if rows:
            number = number or run.enter(db, self._path)
            seq, before = db.execute("SELECT seq, hash FROM head").fetchone()
            values: list[object] = []
            for row in rows:
                seq += 1
                before = bound(before, seq, run.id, run.source, row.data)
                values += (seq, number, *row.columns, row.data, before)
            _insert(db, values)
            db.execute("UPDATE head SET seq = ?, hash = ?", [seq, before])
        if position is not None and number:
            db.execute("INSERT OR REPLACE INTO spools VALUES (?, ?)", [number, position])
        db.execute("COMMIT")
        run.number = number

    def _connected(self) -> sqlite3.Connection:
        if self._damage is not None:
            raise HookError(self._damage)
        try:
            found = os.stat(self._path)
        except OSError:
            raise HookError(f"{self._path} is gone: restore it, or create a new one") from None
        if (found.st_dev, found.st_ino) != self._place:
            raise HookError(f"{self._path} was replaced by another file: create a new journal")
        if self._db is None:
            self._db, self._synchronous = connected(self._path), "FULL"
        return self._db


def _insert(db: sqlite3.Connection, values: list[object]) -> None:
    at = 0
    for rows, statement in _INSERTS.items():
        size = rows * _COLUMNS
        while len(values) - at >= size:
            db.execute(statement, values[at : at + size])
            at += size
