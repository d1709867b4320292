"""A run: one writer of a journal in one process, and what became of those before it."""

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

from .._platform import is_process_running

_log: Final = logging.getLogger("hookbus")


class Run:
    """One writer in one process.

    Attributes:
        id: its own in all journals.
        source: which process it is in: `//host/program/pid`.
        number: what stands for it in the file; 0 until it has written something.
    """

    def __init__(self) -> None:
        self.id, self.number, self._host = token_hex(8), 0, socket.gethostname()
        program = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
        self.source = f"//{quote(self._host)}/{quote(program or 'python')}/{os.getpid()}"

    def enter(self, db: sqlite3.Connection, path: Path) -> int:
        """Enter it into the file, say which runs have died since, and return its number."""
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
        """Say in the file that it has ended as it should."""
        db.execute(
            "UPDATE runs SET ended = ?, how = 'closed' WHERE number = ?", [time.time(), self.number]
        )


def _say_died(db: sqlite3.Connection, path: Path, number: int, id: str, pid: int) -> None:
    unfinished = db.execute(
        "SELECT count(*) FROM attempts WHERE run = ? AND outcome IS NULL", [id]
    ).fetchone()[0]
    db.execute("UPDATE runs SET how = 'died' WHERE number = ?", [number])
    _log.warning(
        "%s: run %s, process %d, ended without closing it: all that it acknowledged is there, "
        "what it was writing is not, and of %d attempts nobody knows the outcome",
        path, id, pid, unfinished,
    )  # fmt: skip


def _is_alive(pid: int) -> bool:
    try:
        return is_process_running(pid)
    except OSError:
        return True
