"""The file of a journal: its tables, its views, and how it is opened."""

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
from .._sqlite import (
    BUSY_SECONDS,
    code_of,
    create,
    into_wal,
    is_new,
    make,
    refuse_foreign,
    said,
    uri_of,
    whole_path,
)  # fmt: skip

VERSION: Final = 1
_APPLICATION: Final = 0x686B6A6C  # "hkjl", in the head of the file
PAGES: Final = 1000

_log: Final = logging.getLogger("hookbus")


def made(path: str | os.PathLike[str]) -> Path:
    """Return the whole path of a journal that is to be written; a file that is not there is made.

    While another process has the file locked, this waits, and logs that once. A journal that is
    there needs no lock: its records wait as those of an open one do.

    Raises:
        HookError: if there is no such folder, or the file is something else, or newer, or cannot be
            written.
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
        if is_new(db, path, "journal", _APPLICATION, VERSION):  # by now another may have made it
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
            _log.error("%s is locked by another process: waiting until it is not", path)
            is_logged = True


def there(path: str | os.PathLike[str]) -> Path:
    """Return the whole path of a journal that is to be read.

    Raises:
        HookError: if it is not there, is something else, or newer.
    """
    whole = whole_path(path, "Journal.reading")
    if not whole.is_file():
        raise HookError(f"there is no journal {whole}: Journal(path) makes one")
    refuse_foreign(whole, "journal", _APPLICATION, VERSION)
    with reading(whole) as db:
        if is_new(db, whole, "journal", _APPLICATION, VERSION):
            raise HookError(f"{whole} has no journal in it yet: Journal(path) makes one")
    return whole


def connected(path: Path) -> sqlite3.Connection:
    """Return a connection that writes, for any one thread at a time."""
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that dropping records gives back
        into_wal(db, BUSY_SECONDS)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")  # what is dropped is gone
    except BaseException:
        db.close()
        raise
    return db


def shrink(path: Path) -> None:
    """Give back the room of what was dropped, some at a time: others want to write.

    Raises:
        HookError: if the file cannot be written.
    """
    with _worded(path), closing(connected(path)) as db:
        free, before = _free(db), -1
        while free not in (0, before):
            db.executescript(f"PRAGMA incremental_vacuum({PAGES})")
            free, before = _free(db), free


def _free(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for some reading, while others may write.

    Raises:
        HookError: in a sentence, if it cannot be read.
    """
    with _worded(path), closing(_read_only(path)) as db:
        yield db


def _read_only(path: Path) -> sqlite3.Connection:
    uri = uri_of(path, "mode=ro")
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        db.close()
        unwritable = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if code_of(error) not in unwritable or Path(f"{path}-wal").exists():
            raise
        # Nobody has it open, and in a folder that may not be written nobody can.
        db = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    return db


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise HookError(said(path, error)) from None
    except UnicodeError:  # of a name in the file, or in what SQLite says of it
        raise HookError(f"{path} is damaged: restore it, or begin with a new file") from None


def tables() -> str:
    """Return the statements that make the tables and views of a journal."""
    return files("hookbus.journal").joinpath("tables.sql").read_text(encoding="utf-8")
