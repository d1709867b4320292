"""The spool, a file beside the journal with the records of one run that are not in the chain yet.

A call appends each of its records with one write, so they survive if the process is killed. The
writer's thread moves the records into the chain. The chain stores the position in the spool up to
which it has the records. Positions count all bytes of a run. If a file is truncated, its header
states the position at which the file continues.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from pathlib import Path
from secrets import randbelow, token_hex
from typing import Final

from .._external.platform import BINARY, NoLocks, lock_file, read_at
from ._chain import Row, encoded
from ._lines import MAGIC, line_of, read_lines
from ._run import Run

LARGEST: Final = 1_000_000
"""The size in bytes above which a spool is truncated, as soon as the chain has all of its
records."""

_MARKS: Final = 1 << 30
_TRIES: Final = 5
_FLAGS: Final = os.O_RDWR | os.O_APPEND | BINARY

_log: Final = logging.getLogger("hookbus")


def paths_of_spools(path: Path) -> list[Path]:
    """Return the files beside a journal that have the names of its spools.

    Raises:
        OSError: if the folder cannot be read.
    """
    real = Path(os.path.realpath(path))
    with os.scandir(real.parent) as entries:
        names = [each.name for each in entries if each.name.startswith(f"{real.name}-spool-")]
    return [real.parent / name for name in sorted(names)]


class Spool:
    """The spool of a run. The first record creates the file.

    Attributes:
        written: the number of records that were written to the spool.
        position: the position up to which the chain has the spool's records.
        lost_until: the number of the last record that the spool has lost, unless the chain already
            has it.
        is_left: whether a file could not be removed after the chain had all of its records.
    """

    is_left = False

    def __init__(self, journal: Path, journal_id: str, run: Run) -> None:
        self._journal, self._journal_id, self._run = journal, journal_id, run
        self._lock = threading.RLock()  # in C, and a forked child makes another spool
        self._file = self._reader = -1
        self._path = ""
        self._identity: tuple[int, int] | None = None
        self._is_closed = self._is_failing = False
        self.written = self.position = self.lost_until = self._base = self._end = 0
        # Each write appends, whatever the offset of the file is. So the offset can tell whether
        # the descriptor is still ours, in a fifth of the time of `fstat`.
        self._mark = _MARKS + randbelow(_MARKS)

    def append(self, text: str) -> bool:
        """Write a record. Return False if the record cannot be written."""
        line = line_of(text)
        with self._lock:
            if self._is_closed or (self._file < 0 and not self._open()):
                return False
            try:
                if os.lseek(self._file, 0, os.SEEK_CUR) != self._mark:
                    raise OSError("the program closed it")  # `check` opens it again
                count = os.write(self._file, line)
                os.lseek(self._file, self._mark, os.SEEK_SET)
                if count == len(line):
                    self._end += count
                    self.written += 1
                    return True
                os.ftruncate(self._file, os.fstat(self._file).st_size - count)  # the disk is full
            except OSError as error:
                self._report(error)
        return False

    def end(self) -> int:
        """Return the position after the last record."""
        with self._lock:
            return self.position if self._file < 0 else self._end

    def read(self, until: int, most: int) -> tuple[list[Row], int, int]:
        """Return the next records before a position, up to a maximum number, with the position
        after these records and the number of damaged lines.
        """
        rows: list[Row] = []
        position, damaged = self.position, 0
        if position < until:
            for line in read_lines(self._reader, self._base, position, until):
                position = line.end
                if line.row is None:
                    damaged += 1
                    continue
                rows.append(line.row)
                if len(rows) == most:
                    break
        return rows, position, damaged

    def shorten(self) -> None:
        """Truncate the file if it is large and the chain has all its records."""
        if self.position - self._base <= LARGEST:
            return
        with self._lock:
            if self.position == self.end():
                try:
                    os.ftruncate(self._file, 0)
                    self._write_header()
                except OSError as error:  # the next record makes another file
                    self._report(error)
                    self._discard()

    def check(self) -> None:
        """Continue in a new file if the file was removed, or if the program closed its
        descriptors."""
        with self._lock:
            if self._file < 0 or self._is_intact():
                return
            end, is_complete = self._end, False
            try:
                is_complete = self._continue()
            except OSError as error:
                self._report(error)
                self._release()
                # Another process may recover the records up to there.
                self.position = max(self.position, end)
            if not is_complete:
                self.lost_until = self.written

    def _is_intact(self) -> bool:
        found = {_identity(each) for each in (self._path, self._file, self._reader)}
        with suppress(OSError):  # the program closed it
            if found == {self._identity}:
                self._measure()
                return True
        return False

    def _continue(self) -> bool:
        """Continue with the same file or a new one. Return whether no record was lost."""
        _log.error("%s was removed, or the program closed it, while it was in use", self._path)
        rest: bytes | None = b"" if self._end == self.position else None
        if self._opened() == self._identity:
            rest = read_at(self._file, self._end - self.position, self.position - self._base)
        self._release()
        if _identity(self._path) == self._identity:
            self._reopen()
            return True
        if rest is None:
            self.position = self._end  # another process may have recovered them
        if not self._open() or rest is None:
            return False
        is_complete = os.write(self._file, rest) == len(rest)
        if not is_complete:
            os.ftruncate(self._file, self._end - self._base)
        self._measure()
        return is_complete

    def stop(self) -> None:
        """Accept no further records."""
        with self._lock:
            self._is_closed = True

    def close(self) -> str | None:
        """Close and remove the file if the chain has all of its records. Otherwise, return the path
        of the file, which remains open unless `stop` was called.
        """
        with self._lock:
            if self._file < 0:
                return None
            is_needed = self.position != self.end()
            if self._is_closed or not is_needed:
                self._release()
            if is_needed:
                return self._path
            self._remove()
        return None

    def leave_to_parent(self) -> None:
        """Close the file in a forked child process. The parent process still has the file open, and
        continues to use it."""
        if self._file >= 0:
            self._release()

    def _open(self) -> bool:
        """Create the file, and return whether this succeeded."""
        try:
            for _ in range(_TRIES):
                self._path = f"{os.path.realpath(self._journal)}-spool-{token_hex(8)}"
                self._file = os.open(self._path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
                # Another process that looks for spools may have locked or even removed it.
                self._identity = self._opened()
                if lock_file(self._file) and _identity(self._path) == self._identity:
                    self._reader = os.open(self._path, os.O_RDONLY | BINARY)
                    self._write_header()
                    self._is_failing = False
                    return True
                os.close(self._file)
                self._file = -1
            raise OSError("other processes lock every new file")
        except OSError as error:
            self._report(error)
            self._is_closed = self._is_closed or isinstance(error, NoLocks)
            if self._file >= 0:
                self._discard()
        self._release()
        return False

    def _discard(self) -> None:
        """Remove a file without a header, which contains no records."""
        self._release()
        self._remove()

    def _remove(self) -> None:
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return
        except OSError as error:  # the chain keeps the position, and the next journal removes it
            self.is_left = True
            _log.warning("%s could not be removed: %s", self._path, error.strerror or error)

    def _reopen(self) -> None:
        self._file = os.open(self._path, _FLAGS)
        self._reader = os.open(self._path, os.O_RDONLY | BINARY)
        # The lock ended when the program closed the file.
        if not lock_file(self._file) or _identity(self._path) != self._identity:
            raise OSError("another process recovers its records")
        self._measure()
        self._is_failing = False

    def _measure(self) -> None:
        """Record where the file ends, and mark the descriptor."""
        self._end = self._base + os.fstat(self._file).st_size
        os.lseek(self._file, self._mark, os.SEEK_SET)

    def _write_header(self) -> None:
        """Write the header of an empty file, which continues at the current position."""
        self._base = self.position
        header = {**self._run.described(), "journal": self._journal_id, "position": self._base}
        data = MAGIC + line_of(encoded(header))
        if os.write(self._file, data) < len(data):
            raise OSError("there is no room for its header")
        self.position += len(data)
        self._measure()

    def _opened(self) -> tuple[int, int] | None:
        return _identity(self._file)

    def _release(self) -> None:
        """Close the descriptors that still belong to this spool."""
        for file in (self._file, self._reader):
            if file >= 0 and _identity(file) == self._identity:
                with suppress(OSError):
                    os.close(file)
        self._file = self._reader = -1

    def _report(self, error: OSError) -> None:
        """Log a failure, unless the previous attempt also failed."""
        if not self._is_failing:
            _log.error(
                "%s-spool: %s; until records can be written to it, they are queued in memory and "
                "lost if the process is killed", self._journal, error.strerror or error,
            )  # fmt: skip
        self._is_failing = True


def _identity(file: int | str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
