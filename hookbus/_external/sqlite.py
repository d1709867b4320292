"""SQLite files that belong to hookbus: identify the owner of a file, and describe errors."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..exceptions import HookError

BUSY_SECONDS: Final = 10.0
"""The time in seconds that an operation waits for another process to finish writing."""


FORK_SECONDS: Final = 15.0
"""The maximum time in seconds that a fork waits for threads that use SQLite."""

_changed: Final = threading.Condition()
_threads: Final = Counter[int]()


@contextmanager
def using_sqlite() -> Iterator[None]:
    """Make a fork of the process wait until the block has ended. SQLite uses internal locks. If
    another thread forks the process while this thread holds such a lock, the child waits for the
    lock forever.
    """
    me = threading.get_ident()
    with _changed:
        _threads[me] += 1
    try:
        yield
    finally:
        with _changed:
            _threads[me] -= 1
            if not _threads[me]:
                del _threads[me]
            _changed.notify_all()


def _before_fork() -> None:
    _changed.acquire()
    me = threading.get_ident()
    _changed.wait_for(lambda: not _threads.keys() - {me}, FORK_SECONDS)


def _in_child() -> None:
    for thread in _threads.keys() - {threading.get_ident()}:
        del _threads[thread]
    _changed.release()


run_at_fork(before=_before_fork, after_in_parent=_changed.release, after_in_child=_in_child)


def whole_path(path: str | os.PathLike[str], owner: str) -> Path:
    """Return the absolute path of a file for a class of hookbus.

    Raises:
        HookError: if the value is not the path of a file, or if its folder does not exist.
    """
    is_path = isinstance(path, (str, os.PathLike)) and "\0" not in str(path)
    if not is_path or str(path) in ("", ":memory:"):
        raise HookError(
            f"{owner}({path!r:.60}) needs a file: pass a path that outlives the process"
        )
    whole = Path(path).absolute()
    if whole.is_dir():
        raise HookError(f"{owner}({str(path)!r}) is a folder: pass the path of a file in it")
    if not whole.parent.is_dir():
        raise HookError(
            f"{owner}({str(path)!r}): the folder {whole.parent} does not exist; create it first"
        )
    return whole


def uri_of(path: str | os.PathLike[str], options: str) -> str:
    """Return the path as an SQLite URI. Slashes are escaped, because two leading slashes would
    denote a host. Backslashes and colons of Windows paths are also escaped.
    """
    return f"file:{quote(os.fsencode(path), safe='')}?{options}"


_CREATING: Final = Lock()


def create(path: Path) -> None:
    """Create the database file if it does not exist, readable and writable only by its owner.

    SQLite creates the `-wal` and `-shm` files with the mode of the database. An existing file keeps
    its mode and is not opened, because closing it would release the locks of this process.
    """
    with _CREATING, suppress(OSError):  # SQLite itself reports the problem with the path
        target = os.path.realpath(path)  # for a link whose target does not exist yet
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def into_wal(db: sqlite3.Connection, seconds: float) -> None:
    """Switch a database to a write-ahead log (WAL). Retry for this many seconds, because SQLite
    does not wait if several processes switch at once.
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


def is_new(
    db: sqlite3.Connection, path: Path, owner: str, application: int, version: int,
    oldest: int | None = None,
) -> bool:  # fmt: skip
    """Return whether a database is empty. Raise HookError for a database that belongs to another
    program or component.

    Args:
        version: the version of the schema.
        oldest: the oldest version that the owner can migrate. None means that the owner migrates no
            older version.

    Raises:
        HookError: if the database belongs to another program or component, or if its version is not
            supported.
    """
    found = db.execute("PRAGMA application_id").fetchone()[0]
    schema = db.execute("PRAGMA user_version").fetchone()[0]
    if found == schema == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return True
    if found != application:
        raise HookError(f"{path} is a database of another program: pass {owner} another file")
    if not (version if oldest is None else oldest) <= schema <= version:
        raise HookError(
            f"{path} has schema {schema}, but this hookbus reads schema {version}: open it with "
            f"{'a newer' if schema > version else 'an older'} hookbus"
        )
    return False


_TRIES: Final = 5
"""The number of attempts to read a file. hookbus reads without a lock, so the file can look damaged
while another process writes to it."""

_PAUSE: Final = 0.05
"""The time in seconds to wait before the file is read again."""


def refuse_foreign(
    path: Path, owner: str, application: int, version: int, oldest: int | None = None
) -> None:
    """Raise HookError for a file that belongs to another program or component. No file is changed.
    SQLite itself would create log files for a database in WAL mode, even to read it.

    Raises:
        HookError: if the file belongs to another program or component, has an unsupported version,
            is not a database, or cannot be read.
    """
    for tries_left in reversed(range(_TRIES)):
        if not path.exists() or not path.stat().st_size:
            return
        try:
            with using_sqlite():
                _check_owner(path, owner, application, version, oldest)
            return
        except sqlite3.Error as error:
            if not tries_left:
                raise HookError(message_of(path, error)) from None
        except HookError:
            if not tries_left:
                raise
        time.sleep(_PAUSE)


def _check_owner(
    path: Path, owner: str, application: int, version: int, oldest: int | None
) -> None:
    if _has_header_of(path, application, version):
        # Pages after the header are not checked. If a process was killed while it copied its log
        # into the file, they are complete only together with the log.
        return
    uri = uri_of(path, "mode=ro&immutable=1")
    with closing(sqlite3.connect(uri, uri=True)) as db:
        if not is_new(db, path, owner, application, version, oldest):
            return
        whole = db.serialize()
    log = Path(f"{path}-wal")
    with TemporaryDirectory() as folder, suppress(FileNotFoundError):
        # All data may still be in the log: read a copy of both files.
        shutil.copyfile(log, copy_of_log := Path(folder, "copy-wal"))
        if copy_of_log.stat().st_size:
            Path(folder, "copy").write_bytes(whole)
            with closing(sqlite3.connect(Path(folder, "copy"))) as db:
                is_new(db, path, owner, application, version, oldest)


def _has_header_of(path: Path, application: int, version: int) -> bool:
    """Return whether the first page of a file is intact and contains the ids of this application
    and version. The layout is documented at https://www.sqlite.org/fileformat2.html, section 1.3.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
            page_size = int.from_bytes(header[16:18])
            is_whole = os.fstat(file.fileno()).st_size >= (65536 if page_size == 1 else page_size)
    except OSError:
        return False
    user_version, application_id = header[60:64], header[68:72]
    return (
        is_whole
        and header.startswith(b"SQLite format 3\0")
        and int.from_bytes(application_id) == application
        and int.from_bytes(user_version) == version
    )


def make(db: sqlite3.Connection, tables: str, application: int, version: int) -> None:
    """Create the tables of an empty database."""
    for statement in tables.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {application}")
    db.execute(f"PRAGMA user_version = {version}")


def code_of(error: Exception) -> int:
    """Return the SQLite error code of an exception, or 0 if the exception has no code."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def message_of(path: Path, error: Exception) -> str:
    """Return a message that describes an error of a file and how to fix the problem."""
    words = {
        sqlite3.SQLITE_BUSY: "is locked by another process: try again later",
        sqlite3.SQLITE_READONLY: "cannot be written: allow writing to the file and its folder",
        sqlite3.SQLITE_FULL: "cannot grow because the disk is full: free some space",
        sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup, or start with a new file",
        sqlite3.SQLITE_NOTADB: "is not an SQLite database: pass hookbus another file",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of file and folder",
        sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk",
    }.get(code_of(error), f"cannot be used: {error}")
    return f"{path} {words}"
