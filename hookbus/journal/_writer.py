"""Writes a journal, in a background thread or in a thread that waits for a record."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .. import HookError
from .._ground.locks import Lock
from ..events import Event
from . import _queue
from ._append import Work
from ._chain import Row, row_of
from ._ends import watch
from ._moving import BATCH, Mover
from ._queue import Waiting
from ._text import text_of

LINGER_SECONDS: Final = 0.05
"""The number of seconds for which the background thread waits, so that several records share a
commit."""

RETRY_SECONDS: Final = 0.5

POLITE_BATCH: Final = 256
"""The maximum number of records that the background thread moves at once during frequent calls."""

POLITE_PAUSE: Final = 9
"""The ratio of the background thread's waiting time to its working time during frequent calls."""

BEHIND: Final = 20_000
"""The number of waiting records from which the background thread no longer waits."""

MANY: Final = 50_000
"""The number of waiting records from which calls are slowed down, until the background thread has
caught up."""

SLOW_DOWN_SECONDS: Final = 0.0001

_log: Final = logging.getLogger("hookbus")


class Writer:
    """Appends records to the chain of a file. Other writers may append to the same file.

    Attributes:
        is_closed: whether the journal is closed, so that it accepts no further records.
    """

    def __init__(self, path: Path, *, is_full: bool) -> None:
        self._path, self._is_full, self.is_closed = path, is_full, False
        self._is_ending = False
        self._mover = Mover(path, is_full=is_full)
        self._begin()
        watch(self)
        if self._mover.has_left_spools:
            self._call_thread()

    def begin(self) -> None:
        """Start again in a forked child process. The parent process writes the records that were
        queued before the fork.
        """
        self._mover.begin()
        self._begin()

    def _begin(self) -> None:
        self._lock, self._owner = Lock(), 0
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._starting = Lock()
        self._thread: threading.Thread | None = None

    @property
    def lost(self) -> int:
        """The number of records that were lost."""
        return self._mover.queue.lost

    # -- taking records in -------------------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Record an event for which no caller waits. If too many records are queued, count the
        event as lost."""
        mover = self._mover
        if mover.is_in_trouble and mover.backlog >= _queue.LIMIT:
            mover.queue.lost += 1
            if mover.queue.lost == 1:
                _log.warning("%s: too many records are queued, and some are lost", self._path)
            return
        if not mover.spool.append(text_of(event)):
            if self.is_closed:
                mover.queue.lost += 1
                return
            row = row_of(event.as_dict())
            mover.queue.add(Waiting(row, mover.spool.end(), is_full=False, is_awaited=False))
        if not self._wake.is_set():
            self._call_thread()
        elif mover.spool.written - mover.moved > MANY and not mover.is_in_trouble:
            time.sleep(SLOW_DOWN_SECONDS)

    def add(self, row: Row, *, is_full: bool) -> Waiting:
        """Queue a record for which a caller will wait.

        Raises:
            HookError: if the journal is closed.
        """
        mover = self._mover
        waiting = Waiting(row, mover.spool.end(), is_full=is_full or self._is_full)
        mover.queue.add(waiting)
        if self.is_closed:  # checked last: a record added before closing is written
            waiting.is_withdrawn = True
            raise HookError(f"the journal {self._path} is closed")
        return waiting

    def post(self, row: Row, intent: Waiting) -> None:
        """Queue a record for which no caller waits. The record is written only if its intent is
        written.
        """
        if not self.is_closed:
            end = self._mover.spool.end()
            self._mover.queue.add(
                Waiting(row, end, is_full=self._is_full, is_awaited=False, intent=intent)
            )
            self._call_thread()

    def settle(self, waiting: Waiting) -> None:
        """Wait until a record is written, or write it in this thread.

        Raises:
            HookError: if the record cannot be written; the message states the reason.
        """
        with self._held():
            if not waiting.is_done:
                self._mover.drain()
        if waiting.error is not None:
            raise HookError(waiting.error)

    async def settle_async(self, waiting: Waiting) -> None:
        """Like `settle`, without blocking the event loop."""
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not awaited by asyncio
            self.settle(waiting)
            return
        done = loop.create_future()

        def say() -> None:
            if not done.done():
                done.set_result(None)

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed, so no task is waiting any more
                loop.call_soon_threadsafe(say)

        waiting.wake = wake
        if not waiting.is_done:  # another commit may have written it before `wake` was set
            self._hurry.set()
            self._call_thread()
            await done
        if waiting.error is not None:
            raise HookError(waiting.error)

    def flush(self) -> None:
        """Write all queued records.

        Raises:
            HookError: if the records cannot be written; the message states the reason. The records
                remain queued.
        """
        with self._held():
            error = self._mover.drain()
        if error is not None:
            raise HookError(error)

    def transact(self, do: Work) -> None:
        """Run work on the file in a transaction, after all queued records, and append the rows that
        it returns.

        Raises:
            HookError: if the transaction fails; the message states the reason. In this case, the
                file is unchanged.
        """
        with self._held():
            error = self._mover.drain()
            try:
                if error is None:
                    self._mover.transact(do)
            finally:
                if self.is_closed:  # a cursor outlives its journal, and nothing else would close it
                    self._mover.chain.disconnect()
        if error is not None:
            raise HookError(error)

    def close(self) -> None:
        """Write all queued records, and accept no further records.

        Raises:
            HookError: if the records cannot be written. In this case, the records in memory are
                lost and counted.
        """
        was_closed, self.is_closed = self.is_closed, True
        if was_closed:
            return
        with self._held():
            problem = self._mover.close()
        self._hurry.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if problem is not None:
            _log.error("%s; the journal is closed", problem)
            raise HookError(problem)

    # -- the end of the program, and forks ---------------------------------------------------------

    def end(self) -> None:
        """Write all queued records at program exit. Any later record is written immediately."""
        if self.is_closed:
            return
        self._is_ending = True
        self._wake.clear()
        with self._held():
            self._mover.end()

    def pause_writing(self) -> bool:
        """Pause writing and close the connection before a fork. Return False on a timeout."""
        if self._owner == threading.get_ident() or not self._lock.acquire(timeout=15):
            return False
        self._mover.chain.disconnect()
        return True

    def resume_writing(self) -> None:
        """Resume writing."""
        self._lock.release()

    # -- writing -----------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[None]:
        me = threading.get_ident()
        if self._owner == me:
            raise HookError(f"the journal {self._path} is already being written by this thread")
        with self._lock:
            self._owner = me
            try:
                yield
            finally:
                self._owner = 0

    def _call_thread(self) -> None:
        self._wake.set()
        if self._is_ending:
            with suppress(HookError):  # already logged
                self.end()
        elif self._thread is None:
            with self._starting:
                if self._thread is None:
                    thread = threading.Thread(target=self._work, name="hookbus journal")
                    thread.daemon = True
                    thread.start()
                    self._thread = thread

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._hurry.wait(LINGER_SECONDS)
            self._wake.clear()
            self._hurry.clear()
            if self.is_closed:
                return
            error = self._move_politely()
            if error is not None:
                self._hurry.wait(RETRY_SECONDS)
                self._wake.set()

    def _move_politely(self) -> str | None:
        """Move all records. Return the reason if they cannot be moved, or None.

        During frequent calls, records are moved in small steps with pauses between them, because
        each step delays the calls.
        """
        mover, most = self._mover, POLITE_BATCH
        while True:
            written, began = mover.spool.written, time.perf_counter()
            with self._held():
                error = mover.move(most)
            if error is not None or not mover.backlog:
                return error
            is_waited_for = len(mover.queue) > 0 or self._hurry.is_set()
            share_left = 0 if is_waited_for else max(0, 1 - mover.backlog / BEHIND)
            self._hurry.wait((time.perf_counter() - began) * POLITE_PAUSE * share_left)
            most = POLITE_BATCH if share_left and mover.spool.written > written else BATCH
