"""Publish the records of a journal. The journal serves as the outbox: its cursor moves only after
the server has committed the records.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .. import HookError
from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..journal import Record
from ..journal._cursor import Cursor
from ..journal._reading import head
from ._connecting import SECONDS, Server

IDLE_SECONDS: Final = 0.2
RETRY_SECONDS: Final = 0.5

BATCH: Final = 1000
BATCH_CHARACTERS: Final = 1_000_000

_log: Final = logging.getLogger("hookbus")


class Shipping:
    """Publishes the records of one journal in a thread.

    Attributes:
        shipped: the number of records that this object has published.
        problem: the reason why the last attempt failed, or None.
    """

    def __init__(
        self, server: Server, name: Callable[[], str], path: Path, cursor: Cursor
    ) -> None:  # fmt: skip
        self._server, self._name, self._path, self._cursor = server, name, path, cursor
        self.shipped = 0
        self.problem: str | None = None
        self._file = head(path).file
        self._lock = Lock()
        self._begin()
        _all.add(self)

    def lag(self) -> int:
        """Return the number of records that are not published yet.

        Raises:
            HookError: if the journal cannot be read.
        """
        return self._cursor.lag()

    def close(self) -> None:
        """Publish the remaining records, and stop the thread. Records that cannot be published
        within 5 seconds stay in the journal. The next process that publishes the journal continues
        there.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        _all.discard(self)
        self._thread.join(2 * SECONDS)
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until and self._ship():
                pass
        except HookError as error:
            self._note(error)

    def _begin(self) -> None:
        """Start the thread. A forked process has to start its own thread."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="hookbus shipping")
        self._thread.start()

    def _run(self) -> None:
        ended = self._ended
        while not ended.is_set():
            pause = 0.0
            try:
                if not self._ship():
                    pause = IDLE_SECONDS
                self.problem = None
            except Exception as error:  # whatever it is, the next attempt may succeed
                self._note(error)
                pause = RETRY_SECONDS
            ended.wait(pause)

    def _ship(self) -> int:
        """Publish one batch of records, and return its size.

        Raises:
            HookError: if the batch cannot be published. The next attempt then reads the batch
                again.
        """
        with self._lock:
            ids, bodies = self._read_batch()
            if not ids:
                return 0
            [(stored,)] = self._server.call("publish", self._name(), self._file, ids, bodies)
            self._cursor.commit()
            self.shipped += stored
            return len(ids)

    def _read_batch(self) -> tuple[list[str], list[str]]:
        """Return the ids and bodies of the next records."""
        ids: list[str] = []
        bodies: list[str] = []
        characters = 0
        self._cursor.rewind()  # another process may ship the same journal
        for record in self._cursor:
            ids.append(record.id)
            bodies.append(_body(record))
            characters += len(bodies[-1])
            if len(ids) == BATCH or characters > BATCH_CHARACTERS:
                break
        return ids, bodies

    def _note(self, error: Exception) -> None:
        if self.problem is None:
            _log.error("%s; %s keeps all records until they are published", error, self._path)
        self.problem = str(error) or type(error).__name__


def _body(record: Record) -> str:
    # ASCII, so that NUL and lone surrogates are escapes, which the type json keeps as they are.
    return json.dumps(
        {
            "source": record.source, "type": record.type, "subject": record.subject,
            "time": record.time, "run": record.run, "data": record.data,
        },
        separators=(",", ":"),
    )  # fmt: skip


_all: Final[weakref.WeakSet[Shipping]] = weakref.WeakSet()


def _in_child() -> None:
    for shipping in list(_all):
        shipping._begin()


run_at_fork(after_in_child=_in_child)
