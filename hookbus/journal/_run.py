"""A run: one writer of a journal in one process. It also reports earlier runs that were not closed.
"""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
import sys
import time
from pathlib import Path
from secrets import token_hex
from typing import Final
from urllib.parse import quote

from .._ground.platform import is_process_running

_log: Final = logging.getLogger("hookbus")


class Run:
    """One writer in one process.

    Attributes:
        id: its unique id in all journals.
        source: its process: `//host/program/pid`.
        number: its number in the file; 0 until it has written a record.
    """

    def __init__(self) -> None:
        self.id, self.number, self._host = token_hex(8), 0, socket.gethostname()
        program = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
        self.source = f"//{quote(self._host)}/{quote(program or 'python')}/{os.getpid()}"

    def enter(self, db: sqlite3.Connection, path: Path) -> int:
        """Add this run to the file, report runs that were not closed, and return its number."""
        for number, id, pid in db.execute(
            "SELECT number, id, pid FROM runs WHERE how IS NULL AND host = ?", [self._host]
        ).fetchall():
            if not _is_alive(pid):
                _say_died(db, path, number, id, pid)
        return db.execute(
            "INSERT INTO runs (id, source, host, pid, began) VALUES (?, ?, ?, ?, ?)",
            [self.id, self.source, self._host, os.getpid(), time.time()],
        ).lastrowid or 0

    def leave(self, db: sqlite3.Connection) -> None:
        """Record that the run ended normally."""
        db.execute(
            "UPDATE runs SET ended = ?, how = 'closed' WHERE number = ?", [time.time(), self.number]
        )


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
