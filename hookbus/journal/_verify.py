"""Verifies a journal, by checking every record and the links between records."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import attrs

from .. import HookError
from ._chain import bound, columns
from ._checkpoint import Checkpoint
from ._file import reading, tables
from ._recovery import POSITION, LeftSpool
from ._spool import paths_of_spools

MOST_PROBLEMS: Final = 100
_TRIES: Final = 3
_ROWS: Final = (
    "SELECT seq, run, type, hook, time, call_id, outcome, receiver, seconds, attempt, session, "
    "data, hash FROM chain NOT INDEXED ORDER BY seq"
)
_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_LIKELY: Final = "was changed, or the record before it was"


@attrs.frozen
class Verification:
    """The result of `verify`.

    Attributes:
        records: the number of records that were checked.
        problems: the first hundred problems, each with the number of the record.
        dropped: the number of records that `retain` dropped, which can no longer be checked.
        spooled: the number of records in spools beside the file, which are not in the chain yet.
            Spooled records have checksums that detect damage, but not intentional changes.
    """

    records: int
    problems: tuple[str, ...]
    dropped: int = 0
    spooled: int = 0

    @property
    def ok(self) -> bool:
        """Whether no problems were found."""
        return not self.problems

    def __str__(self) -> str:
        if self.ok:
            dropped = f"; records 1 to {self.dropped} were dropped earlier" * (self.dropped > 0)
            spooled = f"; {self.spooled} more are in spools" * (self.spooled > 0)
            return f"{self.records} records, nothing was changed{dropped}{spooled}"
        return "\n".join([f"{self.records} records, and something was changed:", *self.problems])


def verified(
    path: Path, checkpoints: Iterable[Checkpoint], key: str | bytes | None
) -> Verification:
    """Check every record of a file, and the checkpoints."""
    look = _Look()
    checkpoint_list = list(checkpoints)
    if key is not None:
        for each in checkpoint_list:
            if not each.is_signed_by(key):
                look.found(f"the checkpoint of record {each.seq} is not signed by this key")
    try:
        with reading(path) as db:
            # Invalid UTF-8 in a record must be reported as a problem of that record, not raise.
            db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            look.at(db, checkpoint_list)
            for (wrong,) in db.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})"):
                if wrong != "ok":
                    look.found(f"the file is damaged: {wrong}")
            look.at_spools(db, path)
    except HookError as error:
        look.found(f"after record {look.last}: {error}")
    return Verification(look.records, tuple(look.problems), look.dropped, look.spooled)


class _Look:
    """Checks a whole file.

    Attributes:
        records: the number of records.
        last: the number of the last record.
        dropped: the number of records that `retain` dropped.
        spooled: the number of records in spools.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.records = self.last = self.dropped = self.spooled = 0
        self._before: bytes | None = None
        self._retained: tuple[Any, Any] | None = None

    def found(self, problem: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        elif len(self.problems) == MOST_PROBLEMS:
            self.problems.append("and more")

    def at(self, db: sqlite3.Connection, checkpoints: list[Checkpoint]) -> None:
        db.execute("BEGIN")
        self._schema(db)
        head = db.execute("SELECT file, seq, hash, expired, expired_hash FROM head").fetchall()
        if [[type(each) for each in row] for row in head] != [[str, int, bytes, int, bytes]]:
            self.found("record 1: the head of the chain is missing")
            return
        file, seq, hash, expired, self._before = head[0]
        runs = {number: (id, source) for number, id, source in
                db.execute("SELECT number, id, source FROM runs")}  # fmt: skip
        marks = self._marks(checkpoints, file, expired, self._before)
        self.last = self.dropped = expired
        for row in db.execute(_ROWS):
            if not isinstance(row[0], int):
                self.found("a record has no number")
                continue
            if row[0] <= expired:
                self.found(f"record {row[0]} was inserted before record {expired + 1}, the first")
                continue
            self._record(row, runs)
            for each in marks.pop(self.last, ()):
                self._compare(each, row[-1])
        for unseen in sorted(marks):
            self.found(f"record {unseen} is missing: a checkpoint refers to it")
        if self.last < seq:
            self.found(f"{_missing(self.last + 1, seq)}: the end was removed")
        elif self.last > seq or self._before != hash:
            self.found(f"record {self.last} is not the last record, which should be {seq}")
        dropped = (expired, head[0][4].hex() if isinstance(head[0][4], bytes) else None)
        if expired and self._retained != dropped:
            self.found(f"records 1 to {expired} are missing, and no record says so")

    def at_spools(self, db: sqlite3.Connection, path: Path) -> None:
        """Check the spools beside the file."""
        journal_id = db.execute("SELECT file FROM head").fetchone()
        try:
            paths = paths_of_spools(path)
        except OSError as error:
            self.found(f"the folder of the spools cannot be read: {error.strerror}")
            return
        for each in paths:
            for tries_left in reversed(range(_TRIES)):
                try:
                    spooled, damaged = _spooled(each, db, path, str(*journal_id or ("",)))
                except FileNotFoundError:  # its process has ended meanwhile
                    break
                except (OSError, ValueError) as error:
                    spooled, damaged = 0, f"{getattr(error, 'strerror', 0) or error}"
                if not damaged or not tries_left:  # else it may have been truncated meanwhile
                    self.spooled += spooled
                    if damaged:
                        self.found(f"{each}: {damaged}")
                    break

    def _schema(self, db: sqlite3.Connection) -> None:
        """Check that the file has exactly the tables, views and indexes in `tables.sql`."""
        with closing(sqlite3.connect(":memory:")) as made:
            made.executescript(tables())
            wanted = {(kind, name): rest for kind, name, *rest in made.execute(_OBJECTS)}
        there = {(kind, name): rest for kind, name, *rest in db.execute(_OBJECTS)}
        for each in sorted(wanted.keys() | there.keys(), key=str):
            named = " ".join(map(str, each))
            if each not in there:
                self.found(f"the {named} is missing")
            elif each not in wanted:
                self.found(f"the {named} was added: a journal has no such object")
            elif wanted[each] != there[each]:
                self.found(f"the {named} was changed")

    def _record(self, row: tuple[Any, ...], runs: dict[Any, tuple[str, str]]) -> None:
        seq, run, *found, text, hash = row
        self.records += 1
        if seq != self.last + 1:
            self.found(_missing(self.last + 1, seq - 1))
            self._before = None
        self.last = seq
        before, self._before = self._before, hash if isinstance(hash, bytes) else None
        if run not in runs or not isinstance(text, str):
            self.found(f"record {seq} {_LIKELY}")
            return
        said: Any = {}
        try:
            is_bound = before is None or bound(before, seq, *runs[run], text) == hash
            said = json.loads(text)
            is_whole = is_bound and columns(said) == tuple(found)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_whole = False
        if not is_whole:
            self.found(f"record {seq} {_LIKELY}")
        elif found[0] == "retained":
            self._retained = said.get("through"), said.get("hash")

    def _marks(
        self, checkpoints: list[Checkpoint], file: str, expired: int, hash: Any
    ) -> dict[int, list[Checkpoint]]:
        """Return the checkpoints by record number. Checkpoints that can be compared without a
        record are compared immediately.
        """
        marks: dict[int, list[Checkpoint]] = defaultdict(list)
        for each in checkpoints:
            if each.file != file:
                self.found(f"record 1: a checkpoint is of journal {each.file}, this is {file}")
            elif each.seq > expired:
                marks[each.seq].append(each)
            elif each.seq == expired and (each.is_dropped or not expired):
                self._compare(each, hash)
            else:
                self.found(
                    f"record {each.seq} cannot be compared with its checkpoint: records 1 to "
                    f"{expired} were dropped; keep the checkpoint that retain() returned"
                )
        return marks

    def _compare(self, checkpoint: Checkpoint, hash: Any) -> None:
        if not isinstance(hash, bytes) or hash.hex() != checkpoint.hash:
            self.found(f"record {checkpoint.seq} {_LIKELY}: it differs from its checkpoint")


def _spooled(
    spool_path: Path, db: sqlite3.Connection, path: Path, journal_id: str
) -> tuple[int, str]:
    """Return the number of records in a spool, and a description of its problem, or ""."""
    spool = LeftSpool(spool_path, os.O_RDONLY)
    try:
        spool.read_header(path, journal_id)
        if not spool.is_begun:
            return 0, ""
        found = db.execute(POSITION, [spool.run.id]).fetchone()
        batches = [*spool.batches(0 if found is None else found[0])]
    finally:
        spool.close()
    damaged = sum(damaged for _, _, damaged in batches)
    wrong = f"the checksums of {damaged} records are wrong" if damaged else ""
    return sum(len(rows) for rows, _, _ in batches), wrong


def _missing(first: int, last: int) -> str:
    several = f"records {first} to {last} are missing"
    return several if first != last else f"record {first} is missing"
