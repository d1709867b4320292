"""The file of a store: its tables, and how it is opened for one piece of work."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .. import HookError

VERSION: Final = 1
_APPLICATION: Final = 0x686B6170  # "hkap", in the head of the file
BUSY_SECONDS: Final = 10.0

_TABLES: Final = """
CREATE TABLE keys (key BLOB NOT NULL);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    request TEXT NOT NULL,
    asked REAL NOT NULL,
    answer TEXT,
    answered REAL,
    until REAL,
    used REAL
);
CREATE UNIQUE INDEX waiting ON requests (digest) WHERE answer IS NULL;
CREATE INDEX by_digest ON requests (digest, number);
"""


def prepared(path: str | os.PathLike[str]) -> tuple[Path, bytes]:
    """Return the whole path of a store and its key; a file that is not there is made.

    Raises:
        HookError: if there is no such folder, or the file is something else, or newer.
    """
    if not isinstance(path, (str, os.PathLike)) or str(path) in ("", ":memory:"):
        raise HookError(f"Store({path!r:.60}): give the path of a file, which outlives the process")
    whole = Path(path).absolute()
    if not whole.parent.is_dir():
        raise HookError(f"Store({str(path)!r}): there is no folder {whole.parent}")
    with opened(whole) as db:
        key = _key(db, whole)
    return whole, key


def _key(db: sqlite3.Connection, path: Path) -> bytes:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO keys VALUES (?)", [secrets.token_bytes(32)])
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
    elif application != _APPLICATION:
        raise HookError(f"{path} is a database of something else: give a store a file of its own")
    elif version != VERSION:
        raise HookError(
            f"{path} has schema {version}, this hookbus reads {VERSION}: open it with a newer one"
        )
    return bytes(db.execute("SELECT key FROM keys").fetchone()[0])


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction, which is on the disk once the block has ended.

    Each piece of work has a connection of its own, so that threads and forks share none.

    Raises:
        HookError: in a sentence, if the file cannot be read or written; then nothing has changed.
    """
    db = None
    try:
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise HookError(_said(path, error)) from None
    finally:
        if db is not None:
            db.close()  # which takes back what was not committed


def _said(path: Path, error: sqlite3.Error) -> str:
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    said = {
        sqlite3.SQLITE_BUSY: "is locked by another process: try again",
        sqlite3.SQLITE_READONLY: "cannot be written: give its user the right to, folder included",
        sqlite3.SQLITE_FULL: "cannot grow, the disk is full: make room",
        sqlite3.SQLITE_CORRUPT: "is damaged: restore it, or begin with a new file",
        sqlite3.SQLITE_NOTADB: "is no SQLite database: give a store a file of its own",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened: look at its rights, folder included",
        sqlite3.SQLITE_IOERR: "cannot be read or written: look at its disk",
    }.get(code, f"cannot be used: {error}")
    return f"{path} {said}"
