"""Creates and opens the file of a store."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .. import HookError
from .._external.sqlite import (
    BUSY_SECONDS,
    create,
    into_wal,
    is_new,
    make,
    message_of,
    refuse_foreign,
    uri_of,
    using_sqlite,
    whole_path,
)  # fmt: skip

VERSION: Final = 4
_OLDEST: Final = 3
_APPLICATION: Final = 0x686B6170  # "hkap", in the head of the file

_PEOPLE: Final = """
CREATE TABLE approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    request TEXT NOT NULL,
    folded TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    way TEXT NOT NULL,
    approved REAL NOT NULL,
    UNIQUE (request, folded)
);
CREATE TABLE rules (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    request TEXT NOT NULL,
    rule TEXT NOT NULL,
    by TEXT NOT NULL,
    made REAL NOT NULL,
    until REAL,
    used INTEGER NOT NULL,
    revoked REAL,
    revoked_by TEXT
);
"""
"""The tables that version 4 added."""

_TABLES: Final = f"""
{_PEOPLE}
CREATE TABLE keys (key BLOB NOT NULL);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    request TEXT NOT NULL,
    asked REAL NOT NULL,
    answer_by REAL NOT NULL,
    lapsed REAL,
    answer TEXT,
    answered REAL,
    until REAL,
    used REAL
);
CREATE UNIQUE INDEX waiting ON requests (digest) WHERE answer IS NULL AND lapsed IS NULL;
CREATE INDEX by_digest ON requests (digest, number);
"""


def prepared(path: str | os.PathLike[str]) -> tuple[Path, bytes]:
    """Return the absolute path of a store and its key. A missing file is created.

    Raises:
        HookError: if the folder is missing, or the file has another format or a newer version.
    """
    whole = whole_path(path, "Store")
    refuse_foreign(whole, "store", _APPLICATION, VERSION, _OLDEST)
    create(whole)
    with opened(whole) as db:
        if is_new(db, whole, "store", _APPLICATION, VERSION, _OLDEST):
            make(db, _TABLES, _APPLICATION, VERSION)
            db.execute("INSERT INTO keys VALUES (?)", [secrets.token_bytes(32)])
        elif db.execute("PRAGMA user_version").fetchone()[0] < VERSION:
            make(db, _PEOPLE, _APPLICATION, VERSION)
        return whole, bytes(db.execute("SELECT key FROM keys").fetchone()[0])


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction, which is on disk when the `with` block ends.

    Each transaction has its own connection, so that threads and forked processes share no
    connection.

    Raises:
        HookError: if the file cannot be read or written. In that case, nothing has changed.
    """
    with using_sqlite():
        db = None
        try:
            uri = uri_of(path, "mode=rw")  # do not create a file that was deleted
            db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            into_wal(db, BUSY_SECONDS)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise HookError(message_of(path, error)) from None
        finally:
            if db is not None:
                db.close()  # rolls back an uncommitted transaction
