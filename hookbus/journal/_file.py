"""Creates and opens the file of a journal, with its tables and views."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from .. import HookError
from .._external.sqlite import (
    BUSY_SECONDS,
    code_of,
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

VERSION: Final = 3
_APPLICATION: Final = 0x686B6A6C  # "hkjl", in the head of the file
PAGES: Final = 1000
_UNWRITABLE: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)

_log: Final = logging.getLogger("hookbus")


def made(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a journal for writing, and create the file if it is missing.

    If another process has locked a new file, this function logs a message once and waits. For an
    existing journal it does not wait, because records are queued.

    Raises:
        HookError: if the folder is missing, or the file is not a journal, has a newer version, or
            cannot be written.
    """
    whole = whole_path(path, "Journal")
    with _worded(whole):
        _when_unlocked(whole, _make_if_new)
    return whole


def _make_if_new(path: Path) -> None:
    refuse_foreign(path, "journal", _APPLICATION, VERSION)
    create(path)
    with closing(connected(path)) as db:
        if not is_new(db, path, "journal", _APPLICATION, VERSION):
            return
        db.execute("BEGIN IMMEDIATE")
        if is_new(db, path, "journal", _APPLICATION, VERSION):  # others may create it first
            make(db, tables(), _APPLICATION, VERSION)
            name = secrets.token_hex(8)
            genesis = sha256(name.encode()).digest()
            db.execute("INSERT INTO head VALUES (1, ?, 0, ?, 0, ?)", [name, genesis, genesis])
        db.execute("COMMIT")


def _when_unlocked(path: Path, do: Callable[[Path], None]) -> None:
    is_logged = False
    while True:
        try:
            do(path)
            return
        except sqlite3.OperationalError as error:
            if code_of(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        if not is_logged:
            _log.error("%s is locked by another process: waiting for it", path)
            is_logged = True


def there(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a journal for reading.

    Raises:
        HookError: if the file does not exist, is not a journal, or has a newer version.
    """
    whole = whole_path(path, "Journal.reading")
    if not whole.is_file():
        raise HookError(f"the journal {whole} does not exist: create it with Journal(path)")
    refuse_foreign(whole, "journal", _APPLICATION, VERSION)
    with reading(whole) as db:
        if is_new(db, whole, "journal", _APPLICATION, VERSION):
            raise HookError(f"{whole} contains no journal yet: create it with Journal(path)")
    return whole


def connected(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, to be used by one thread at a time."""
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that dropped records free space
        into_wal(db, BUSY_SECONDS)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")  # overwrite dropped records
    except BaseException:
        db.close()
        raise
    return db


def shrink(path: Path) -> None:
    """Free the space of dropped records in small steps, so that other processes can write in
    between.

    Raises:
        HookError: if the file cannot be written.
    """
    with _worded(path), using_sqlite(), closing(connected(path)) as db:
        free, before = _free(db), -1
        while free not in (0, before):
            db.executescript(f"PRAGMA incremental_vacuum({PAGES})")
            free, before = _free(db), free


def _free(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])


def id_of(path: Path) -> str:
    """Return the id of a journal, or "" if the head of its chain is missing.

    Raises:
        HookError: if the file cannot be read.
    """
    with reading(path) as db:
        found = db.execute("SELECT file FROM head").fetchone()
    return "" if found is None else str(found[0])


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for reading while others may write to it.

    Raises:
        HookError: if the file cannot be read.
    """
    with _worded(path), using_sqlite(), closing(_read_only(path)) as db:
        yield db


def _read_only(path: Path) -> sqlite3.Connection:
    uri = uri_of(path, "mode=ro")
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException as error:
        db.close()
        is_unwritable = isinstance(error, sqlite3.Error) and code_of(error) in _UNWRITABLE
        if not is_unwritable or Path(f"{path}-wal").exists():
            raise
        # No process has the file open, and in a read-only folder no process can.
        db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    return db


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise HookError(message_of(path, error)) from None
    except UnicodeError:  # invalid UTF-8 in the file's schema or in an SQLite message
        raise HookError(f"{path} is damaged: restore it, or create a new journal") from None


def tables() -> str:
    """Return the SQL statements that create the tables and views of a journal."""
    return files("hookbus.journal").joinpath("tables.sql").read_text(encoding="utf-8")
