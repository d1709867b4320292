"""Recovers the records that killed processes left in their spools."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .._external.platform import BINARY, NoLocks, lock_file
from ._append import Chain
from ._chain import Row
from ._lines import header_of, read_lines
from ._run import KilledRun
from ._spool import paths_of_spools

_BATCH: Final = 8192
_NAMES: Final = 100
_NAME: Final = re.compile(r".*-spool-[0-9a-f]{16}", re.DOTALL)
_RUN: Final = re.compile(r"[0-9a-f]{16}")
_FLAGS: Final[int] = BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_log: Final = logging.getLogger("hookbus")


class LeftSpool:
    """The spool of a process that may have been killed, beside a journal.

    Attributes:
        path: the path of the spool.
        is_begun: whether the spool is not empty.
        run: the run that wrote the spool, if the spool is not empty.

    Raises:
        OSError: if the spool cannot be opened.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self.path, self._base, self._first = path, 0, 0
        self._file = os.open(path, mode | _FLAGS)

    def read_header(self, journal: Path, journal_id: str) -> None:
        """Read the header, which the other methods need.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if the file is not a spool of this journal; the message states the reason.
        """
        if _NAME.fullmatch(self.path.name) is None:
            raise ValueError("its name does not end with the 16 hexadecimal digits of a spool")
        found, owner = os.fstat(self._file), os.stat(journal).st_uid
        user: Any = getattr(os, "getuid", lambda: owner)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (owner, user()):
            raise ValueError("it is not a file of the journal's owner")
        self.is_begun = found.st_size > 0
        if not self.is_begun:
            return
        try:
            header, size = header_of(self._file)
            self.run, self._base = KilledRun(header), int(header["position"])
            if _RUN.fullmatch(self.run.id) is None:
                raise ValueError("it names no run")
        except (ValueError, KeyError, TypeError):
            raise ValueError("it has no spool header") from None
        if header.get("journal") != journal_id:
            raise ValueError("it belongs to another journal")
        self._first = self._base + size

    def lock(self) -> bool:
        """Lock the spool. Return False if the process that wrote it is still running, or if
        another process is recovering it.
        """
        try:
            return lock_file(self._file)
        except NoLocks:  # so no spool is written here
            return False

    def batches(self, moved: int) -> Iterator[tuple[list[Row], int, int]]:
        """Yield batches of records that are not in the chain yet. Each batch has the position after
        the records and the number of damaged lines.

        Args:
            moved: the position up to which the chain has the records.
        """
        end = self._base + os.fstat(self._file).st_size
        rows: list[Row] = []
        position, damaged = max(self._first, moved), 0
        for line in read_lines(self._file, self._base, position, end):
            position = line.end
            if line.row is not None:
                rows.append(line.row)
            elif not line.is_torn:  # a torn line is of a call that had not continued yet
                damaged += 1
            if len(rows) == _BATCH:
                yield rows, position, damaged
                rows, damaged = [], 0
        yield rows, position, damaged

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._file)


def has_left_spools(journal: Path) -> bool:
    """Return whether an ended process left a file with the name of a spool."""
    for path in paths_of_spools(journal):
        try:
            spool = LeftSpool(path, os.O_RDONLY)
        except OSError:  # it was removed, or this user cannot read it
            continue
        is_left = spool.lock()
        spool.close()
        if is_left:
            return True
    return False


def left_spools(journal: Path, journal_id: str) -> list[LeftSpool]:
    """Return the spools that killed processes left, locked by this process. Log each file that is
    not a spool of this journal.
    """
    found: list[LeftSpool] = []
    for path in paths_of_spools(journal):
        spool = None
        try:
            spool = LeftSpool(path, os.O_RDWR)
            if spool.lock():
                spool.read_header(journal, journal_id)
                found.append(spool)
                continue
        except FileNotFoundError:  # its writer has removed it meanwhile
            continue
        except (OSError, ValueError) as error:
            _log.warning("%s was left as it is: %s", path, getattr(error, "strerror", 0) or error)
        if spool is not None:
            spool.close()
    return found


def recover(spool: LeftSpool, chain: Chain) -> None:
    """Move the records of a spool into the chain, then remove the spool.

    Raises:
        HookError: if the chain cannot be written.
    """
    recovered = damaged = 0
    if spool.is_begun:
        # An earlier recovery that could not rename the file has moved the records behind them too.
        damaged = sum(count for _, _, count in spool.batches(0))
        for rows, position, _ in spool.batches(_position(spool, chain)):
            if rows:
                _append(chain, rows, spool.run, position)
                recovered += len(rows)
    spool.close()
    if not damaged:
        with suppress(OSError):  # the next journal finds that the chain has all records
            spool.path.unlink()
    if recovered:
        _log.warning(
            "%s: %d records of %s were recovered, which ended without closing its journal",
            spool.path, recovered, spool.run.source,
        )  # fmt: skip
    if damaged:
        _log.error(
            "%s: %d lines are damaged, so their records are lost; the file is kept%s",
            spool.path, damaged, _set_aside(spool.path),
        )  # fmt: skip


def _set_aside(path: Path) -> str:
    """Rename a damaged spool to an unused name. Return a description of the new name."""
    journal, _, random = path.name.rpartition("-spool-")
    for number in range(1, _NAMES + 1):
        name = f"{journal}-damaged-{random}" + f"-{number}" * (number > 1)
        free = path.with_name(name)
        try:
            os.close(os.open(free, os.O_CREAT | os.O_EXCL, 0o600))  # no other process takes it
        except FileExistsError:
            continue
        except OSError as error:
            return f", but cannot be renamed: {error.strerror or error}"
        try:
            path.replace(free)
        except OSError as error:
            with suppress(OSError):  # an empty file remains
                free.unlink()
            return f", but cannot be renamed: {error.strerror or error}"
        return f" as {name}"
    return f", but cannot be renamed: there are {_NAMES} files with such names"


def _position(spool: LeftSpool, chain: Chain) -> int:
    """Return the position up to which the chain has the records of a spool."""
    found: list[tuple[int]] = []

    def look(db: sqlite3.Connection) -> list[Row]:
        found.extend(db.execute(POSITION, [spool.run.id]))
        return []

    chain.commit(look, is_full=False)
    return found[0][0] if found else 0


def _append(chain: Chain, rows: list[Row], run: KilledRun, position: int) -> None:
    chain.commit(lambda db: rows, is_full=False, run=run, position=position)


POSITION: Final = "SELECT position FROM spools JOIN runs ON number = run WHERE id = ?"
"""The query for the position up to which the chain has the records of a run's spool."""
