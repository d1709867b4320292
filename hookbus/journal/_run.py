"""Defines a run: one writer of a journal in one process. A new run also reports earlier runs that
were not closed.
"""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import quote

from .._external.platform import is_process_running

_log: Final = logging.getLogger("hookbus")


class Run:
    """One writer of a journal in one process.

    Attributes:
        id: the id of the run, which is unique in all journals.
        source: the process, as `//host/program/pid`.
        number: the number of the run in the file; 0 until the run has written a record.
    """

    def __init__(self) -> None:
        self.id, self.number, self._host = token_hex(8), 0, socket.gethostname()
        self._pid, self._began = os.getpid(), time.time()
        program = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
        self.source = f"//{quote(self._host)}/{quote(program or 'python')}/{self._pid}"

    def described(self) -> dict[str, Any]:
        """Return the data that another process needs to recover the records of this run."""
        return {"run": self.id, "source": self.source, "host": self._host, "pid": self._pid,
                "began": self._began}  # fmt: skip

    def enter(self, db: sqlite3.Connection, path: Path) -> int:
        """Add this run to the file, report runs that were not closed, and return its number."""
        for number, id, pid in db.execute(
            "SELECT number, id, pid FROM runs WHERE how IS NULL AND host = ?", [self._host]
        ).fetchall():
            if not _is_alive(pid):
                _say_died(db, path, number, id, pid)
        return self._add(db, None)

    def _add(self, db: sqlite3.Connection, how: str | None) -> int:
        """Return the number of this run, after adding the run if it is missing. Another process
        that recovered records of the run may already have added it.
        """
        db.execute(
            "INSERT OR IGNORE INTO runs (id, source, host, pid, began, how) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [self.id, self.source, self._host, self._pid, self._began, how],
        )
        found = db.execute("SELECT number FROM runs WHERE id = ?", [self.id])
        return int(found.fetchone()[0])

    def leave(self, db: sqlite3.Connection, *, keeps_position: bool) -> None:
        """Record that the run ended normally. Keep the run's position in its spool if the spool
        remains."""
        db.execute(
            "UPDATE runs SET ended = ?, how = 'closed' WHERE number = ?", [time.time(), self.number]
        )
        if not keeps_position:
            db.execute("DELETE FROM spools WHERE run = ?", [self.number])


class KilledRun(Run):
    """A run of a killed process, as its spool describes the run.

    Raises:
        KeyError, TypeError: if the description is not valid.
    """

    def __init__(self, described: Mapping[str, Any]) -> None:
        self.id, self.source, self.number = str(described["run"]), str(described["source"]), 0
        self._host, self._pid = str(described["host"]), int(described["pid"])
        self._began = float(described["began"])

    def enter(self, db: sqlite3.Connection, path: Path) -> int:
        """Return the number of this run in the file, after adding the run if it is missing."""
        return self._add(db, "died")


def _say_died(db: sqlite3.Connection, path: Path, number: int, id: str, pid: int) -> None:
    unknown = db.execute(
        "SELECT count(*) FROM attempts WHERE run = ? AND outcome IS NULL", [id]
    ).fetchone()[0]
    attempts = "1 attempt" if unknown == 1 else f"{unknown} attempts"
    db.execute("UPDATE runs SET how = 'died' WHERE number = ?", [number])
    _log.warning(
        "%s: run %s of process %d ended without closing it. The file has all acknowledged records, "
        "but no unfinished writes%s",
        path, id, pid, f". The outcome of {attempts} is unknown" if unknown else "",
    )  # fmt: skip


def _is_alive(pid: int) -> bool:
    try:
        return is_process_running(pid)
    except OSError:
        return True
