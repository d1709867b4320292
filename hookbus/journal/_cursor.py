"""Cursors, which store the positions of readers in the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from .. import HookError
from ._chain import Row
from ._file import reading
from ._reading import Wanted, head, records
from ._words import Record
from ._writer import Writer


class Cursor:
    """An iterator over the records that a named reader has not committed yet.

    Iteration ends with the last record. Iterate again to get later records. A reader that stops
    before it calls `commit` gets the same records again. Detect duplicates by their `id`. `retain`
    never drops a record that a cursor has not committed.
    """

    def __init__(self, path: Path, writer: Writer, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise HookError(f"cursor({name!r:.40}): the name must be a non-empty string")
        self._path, self._writer, self._name = path, writer, name
        self._records: Iterator[Record] | None = None

        def begin(db: sqlite3.Connection) -> list[Row]:
            db.execute("INSERT OR IGNORE INTO cursors SELECT ?, expired FROM head", [name])
            found = db.execute("SELECT seq FROM cursors WHERE name = ?", [name])
            self._seen = int(found.fetchone()[0])
            return []

        writer.transact(begin)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        if self._records is None:
            with suppress(HookError):  # records that are still queued are read next time
                self._writer.flush()
            self._records = records(self._path, Wanted({}, None), self._seen)
        for record in self._records:
            self._seen = record.seq
            return record
        self._records = None
        raise StopIteration

    def commit(self) -> None:
        """Commit all records up to the last record that was returned.

        Raises:
            HookError: if the position cannot be written.
        """
        self._writer.transact(self._moved)

    def rewind(self) -> None:
        """Continue after the last record that was committed, by any cursor with this name.

        Raises:
            HookError: if the file cannot be read.
        """
        self._records, self._seen = None, self._committed()

    def lag(self) -> int:
        """Return the number of records that are not committed yet.

        Raises:
            HookError: if the file cannot be read.
        """
        with suppress(HookError):  # those that cannot be written yet are not counted
            self._writer.flush()
        return max(0, head(self._path).seq - self._committed())

    def forget(self) -> None:
        """Delete the cursor. A new cursor with the same name starts from the beginning.

        Raises:
            HookError: if the change cannot be written.
        """
        self._writer.transact(self._dropped)

    def _committed(self) -> int:
        with reading(self._path) as db:
            found = db.execute(
                "SELECT coalesce((SELECT seq FROM cursors WHERE name = ?), "
                "(SELECT expired FROM head))", [self._name],
            )  # fmt: skip
            return int(found.fetchone()[0])

    def _moved(self, db: sqlite3.Connection) -> list[Row]:
        db.execute(
            "INSERT INTO cursors VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET seq = max(seq, excluded.seq)",
            [self._name, self._seen],
        )
        return []

    def _dropped(self, db: sqlite3.Connection) -> list[Row]:
        db.execute("DELETE FROM cursors WHERE name = ?", [self._name])
        return []
