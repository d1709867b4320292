"""SQLite files of hookbus's own: whose a file is, and what is wrong with it, in a sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

from ._locks import Lock
from .exceptions import HookError

BUSY_SECONDS: Final = 10.0
"""How long a piece of work waits for another process that writes."""


def whole_path(path: str | os.PathLike[str], owner: str) -> Path:
    """Return the whole path of a file that a class of hookbus is to keep.

    Raises:
        HookError: if it is no path of a file, or there is no such folder.
    """
    is_path = isinstance(path, (str, os.PathLike)) and "\0" not in str(path)
    if not is_path or str(path) in ("", ":memory:"):
        raise HookError(
            f"{owner}({path!r:.60}): give the path of a file, which outlives the process"
        )
    whole = Path(path).absolute()
    if whole.is_dir():
        raise HookError(f"{owner}({str(path)!r}) is a folder: give the path of a file in it")
    if not whole.parent.is_dir():
        raise HookError(f"{owner}({str(path)!r}): there is no folder {whole.parent}")
    return whole


def uri_of(path: str | os.PathLike[str], options: str) -> str:
    """Return the address of a file as SQLite reads it: slashes are escaped, too, as two of them in
    front would name a host, and so are the backslashes and colons of Windows.
    """
    return f"file:{quote(os.fsencode(path), safe='')}?{options}"


_CREATING: Final = Lock()


def create(path: Path) -> None:
    """Create the file of a database, for its owner alone, where there is none.

    SQLite gives the mode of a database to the files `-wal` and `-shm` beside it. A file that is
    there keeps the mode that somebody gave it, and is not opened: closing it would release the
    locks that this process has on it.
    """
    with _CREATING, suppress(OSError):  # SQLite says in its own words what is wrong with the place
        target = os.path.realpath(path)  # of a link whose file is not there yet
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def into_wal(db: sqlite3.Connection, seconds: float) -> None:
    """Have a file keep a log of what is written. Where several make it at once, SQLite does not
    wait for the others by itself.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def is_new(db: sqlite3.Connection, path: Path, owner: str, application: int, version: int) -> bool:
    """Tell whether a file has nothing in it yet, and refuse what is somebody else's.

    Raises:
        HookError: if it is a database of something else, or of another version.
    """
    found = db.execute("PRAGMA application_id").fetchone()[0]
    schema = db.execute("PRAGMA user_version").fetchone()[0]
    if found == schema == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return True
    if found != application:
        raise HookError(f"{path} is a database of something else: give a {owner} a file of its own")
    if schema != version:
        raise HookError(
            f"{path} has schema {schema}, this hookbus reads {version}: open it with "
            f"{'a newer' if schema > version else 'an older'} one"
        )
    return False


_TRIES: Final = 5
"""A file is read without a lock. What another process is just writing can look like damage, so the
file is read again before it is refused."""

_PAUSE: Final = 0.05
"""How many seconds to wait before that."""


def refuse_foreign(path: Path, owner: str, application: int, version: int) -> None:
    """Refuse a file that is somebody else's, without a change to it or beside it.

    SQLite itself would make a log and its index beside a file in WAL mode, even to read it.

    Raises:
        HookError: if it is a database of something else, or of another version, or is not one, or
            cannot be read.
    """
    for tries_left in reversed(range(_TRIES)):
        if not path.exists() or not path.stat().st_size:
            return
        try:
            _check_owner(path, owner, application, version)
            return
        except sqlite3.Error as error:
            if not tries_left:
                raise HookError(said(path, error)) from None
        except HookError:
            if not tries_left:
                raise
        time.sleep(_PAUSE)


def _check_owner(path: Path, owner: str, application: int, version: int) -> None:
    uri = uri_of(path, "mode=ro&immutable=1")
    with closing(sqlite3.connect(uri, uri=True)) as db:
        if not is_new(db, path, owner, application, version):
            return
        whole = db.serialize()
    log = Path(f"{path}-wal")
    with TemporaryDirectory() as folder, suppress(FileNotFoundError):
        # All that was written may still be in the log: look at a copy of both.
        shutil.copyfile(log, copy_of_log := Path(folder, "copy-wal"))
        if copy_of_log.stat().st_size:
            Path(folder, "copy").write_bytes(whole)
            with closing(sqlite3.connect(Path(folder, "copy"))) as db:
                is_new(db, path, owner, application, version)


def make(db: sqlite3.Connection, tables: str, application: int, version: int) -> None:
    """Make the tables of a file that has nothing in it."""
    for statement in tables.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {application}")
    db.execute(f"PRAGMA user_version = {version}")


def code_of(error: Exception) -> int:
    """Return SQLite's number for an error, 0 where it has none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def said(path: Path, error: Exception) -> str:
    """Say what is wrong with a file, and what to do about it."""
    words = {
        sqlite3.SQLITE_BUSY: "is locked by another process: try again",
        sqlite3.SQLITE_READONLY: "cannot be written: give its user the right to, folder included",
        sqlite3.SQLITE_FULL: "cannot grow, the disk is full: make room",
        sqlite3.SQLITE_CORRUPT: "is damaged: restore it, or begin with a new file",
        sqlite3.SQLITE_NOTADB: "is no SQLite database: give hookbus a file of its own",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened: look at its rights, folder included",
        sqlite3.SQLITE_IOERR: "cannot be read or written: look at its disk",
    }.get(code_of(error), f"cannot be used: {error}")
    return f"{path} {words}"
