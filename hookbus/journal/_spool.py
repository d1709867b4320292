"""A spool: the records of one run that are not in the chain yet, in a file beside the journal.

A call appends each of its records with one write, so they survive if the process is killed. The
thread of the writer moves them into the chain, which stores the position up to which it has them.
Positions count all bytes of a run. If a file is truncated, its header says where it continues.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple
from zlib import crc32

from .._ground.platform import BINARY, lock_file, read_at
from ._chain import Row, columns, encoded
from ._run import Run

MAGIC: Final = b"hookbus-spool-1\n"

LARGEST: Final = 1_000_000
"""A spool of more bytes is truncated as soon as the chain has all its records."""

_CHUNK: Final = 1 << 18
_TRIES: Final = 5
_FLAGS: Final = os.O_RDWR | os.O_APPEND | BINARY

_log: Final = logging.getLogger("hookbus")


class Line(NamedTuple):
    """A line of a spool.

    Attributes:
        row: its record, or None if the line is damaged.
        end: the position behind it.
        is_torn: whether it is the last line and was not written to its end.
    """

    row: Row | None
    end: int
    is_torn: bool = False


def paths_of_spools(path: Path) -> list[Path]:
    """Return the files beside a journal that are named like its spools.

    Raises:
        OSError: if the folder cannot be read.
    """
    real = Path(os.path.realpath(path))
    with os.scandir(real.parent) as entries:
        names = [each.name for each in entries if each.name.startswith(f"{real.name}-spool-")]
    return [real.parent / name for name in sorted(names)]


def line_of(text: str) -> bytes:
    """Return a text as a line with its checksum."""
    data = text.encode()
    return b"%08x %b\n" % (crc32(data), data)


def data_of(line: bytes) -> Any:
    """Return the JSON data of a line without its line feed.

    Raises:
        ValueError: if the line is damaged.
    """
    if line[8:9] != b" " or line[:8] != b"%08x" % crc32(line[9:]):
        raise ValueError("the checksum is wrong")
    return json.loads(line[9:])


def header_of(file: int) -> tuple[dict[str, Any], int]:
    """Return the header of an open spool, and its length in bytes.

    Raises:
        ValueError: if it has none.
    """
    start, end_of_line, _ = read_at(file, _CHUNK, 0).removeprefix(MAGIC).partition(b"\n")
    header = data_of(start)
    if not end_of_line or not isinstance(header, dict) or read_at(file, len(MAGIC), 0) != MAGIC:
        raise ValueError("there is no header")
    return header, len(MAGIC) + len(start) + 1


def read_lines(file: int, base: int, position: int, until: int) -> Iterator[Line]:
    """Yield the lines of an open spool between two positions."""
    rest, read = b"", position
    while read < until:
        chunk = read_at(file, min(_CHUNK, until - read), read - base)
        if not chunk:
            break
        read += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for each in whole:
            position += len(each) + 1
            yield Line(_row_of(each), position)
    if rest:
        yield Line(None, position + len(rest), is_torn=True)


def _row_of(line: bytes) -> Row | None:
    try:
        return Row(columns(data_of(line)), line[9:].decode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


class Spool:
    """The spool of a run. The file is created with the first record.

    Attributes:
        written: the number of records that were written to it.
        position: up to where the chain has its records.
        is_left: whether a file could not be removed after the chain had all its records.
    """

    is_left = False

    def __init__(self, journal: Path, journal_id: str, run: Run) -> None:
        self._journal, self._journal_id, self._run = journal, journal_id, run
        self._lock = threading.RLock()  # in C, and a forked child makes another spool
        self._file = self._reader = -1
        self._path = ""
        self._identity: tuple[int, int] | None = None
        self._is_closed = self._is_failing = False
        self.written = self.position = self._base = 0

    def append(self, text: str) -> bool:
        """Write a record. Return False if that is not possible."""
        data = text.encode()
        line = b"%08x %b\n" % (crc32(data), data)
        with self._lock:
            if self._is_closed or (self._file < 0 and not self._open()):
                return False
            try:
                count = os.write(self._file, line)
                if count == len(line):
                    self.written += 1
                    return True
                os.ftruncate(self._file, os.fstat(self._file).st_size - count)  # the disk is full
            except OSError as error:
                self._report(error)
        return False

    def end(self) -> int:
        """Return the position behind the last record."""
        with self._lock:
            return self.position if self._file < 0 else self._base + os.fstat(self._file).st_size

    def read(self, until: int, most: int) -> tuple[list[Row], int, int]:
        """Return the next records before a position, at most this number of them, with the
        position behind them and the number of damaged lines between them.
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
        with self._lock, suppress(OSError):  # it stays as it is, or is shorter than its header
            if self.position == self.end():
                os.ftruncate(self._file, 0)
                self._write_header()

    def check(self) -> None:
        """Continue if the file was removed, or if the program closed its descriptors."""
        with self._lock, suppress(OSError):  # the next write reports it
            if self._file < 0 or _identity(self._path) == self._identity == self._opened():
                return
            _log.error("%s was removed, or the program closed it, while it was used", self._path)
            rest = b""
            if self._opened() == self._identity:
                size = self.end() - self.position
                rest = read_at(self._reader, size, self.position - self._base)
                self._release()
            self._file = self._reader = -1
            if _identity(self._path) == self._identity:
                self._reopen()
            elif not self._open() or os.write(self._file, rest) < len(rest):
                _log.error("%s-spool: %d bytes of records are lost", self._journal, len(rest))

    def stop(self) -> None:
        """Accept no more records."""
        with self._lock:
            self._is_closed = True

    def close(self) -> str | None:
        """Close and remove the file if the chain has all its records. Otherwise return its path;
        then it stays open unless `stop` was called.
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
        """Close the file in a forked child. The parent has it open and continues to use it."""
        if self._file >= 0:
            self._release()

    def _open(self) -> bool:
        """Create the file. Return whether that succeeded."""
        try:
            for _ in range(_TRIES):
                self._path = f"{os.path.realpath(self._journal)}-spool-{token_hex(8)}"
                self._file = os.open(self._path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
                # Another process that looks for spools may have locked or even removed it.
                if lock_file(self._file) and _identity(self._path) == self._opened():
                    self._reader = os.open(self._path, os.O_RDONLY | BINARY)
                    self._identity = self._opened()
                    self._write_header()
                    self._is_failing = False
                    return True
                os.close(self._file)
                self._file = -1
            raise OSError("other processes lock every new file")
        except OSError as error:
            self._report(error)
        except ImportError:  # this system cannot lock files: records are queued in memory
            self._is_closed = True
            os.unlink(self._path)
        self._release()
        return False

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
        lock_file(self._file)

    def _write_header(self) -> None:
        """Write the header of an empty file, which continues at the current position."""
        self._base = self.position
        header = {**self._run.described(), "journal": self._journal_id, "position": self._base}
        self.position += os.write(self._file, MAGIC + line_of(encoded(header)))

    def _opened(self) -> tuple[int, int] | None:
        return _identity(self._file)

    def _release(self) -> None:
        for file in (self._file, self._reader):
            if file >= 0:
                with suppress(OSError):
                    os.close(file)
        self._file = self._reader = -1

    def _report(self, error: OSError) -> None:
        """Log a failure, but only the first of several in a row."""
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
