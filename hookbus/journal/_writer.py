"""Write a journal, in the thread that waits for a record or else in a background thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .. import HookError
from .._ground.locks import Lock
from ._append import Chain, Work
from ._chain import Row
from ._ends import watch
from ._queue import Queue, Waiting

LINGER_SECONDS: Final = 0.05
"""How long a record that no caller waits for is held, so that it shares a commit with others."""

RETRY_SECONDS: Final = 0.5
BATCH: Final = 8192

_log: Final = logging.getLogger("hookbus")


class Writer:
    """Appends records to the chain of a file. Other writers may append to the same file.

    Attributes:
        queue: the unwritten records.
        is_closed: whether no more records are accepted.
    """

    def __init__(self, path: Path, *, is_full: bool) -> None:
        self._path, self._is_full, self.is_closed = path, is_full, False
        self._chain = Chain(path)
        self._is_ending = self._is_in_trouble = False
        self._begin()
        watch(self)

    def begin(self) -> None:
        """Start again in a forked child process. The parent writes the records queued before the
        fork.
        """
        self._chain.begin()
        self._begin()

    def _begin(self) -> None:
        self.queue = Queue()
        self._lock, self._owner = Lock(), 0
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._starting = Lock()
        self._thread: threading.Thread | None = None

    # -- taking records in -------------------------------------------------------------------------

    def offer(self, row: Row) -> None:
        """Queue a record that no caller waits for. If the queue is full, count it as lost."""
        queue = self.queue
        if self.is_closed:
            queue.lost += 1
        elif not queue.offer(row):
            if queue.lost == 1:
                _log.warning("%s: too many records are queued, and some are lost", self._path)
        elif not self._wake.is_set():
            self._call_thread()

    def add(self, row: Row, *, is_full: bool) -> Waiting:
        """Queue a record that a caller is about to wait for.

        Raises:
            HookError: if the journal is closed.
        """
        waiting = Waiting(row, is_full=is_full or self._is_full)
        self.queue.add(waiting)
        if self.is_closed:  # checked last: a record added before closing is written
            waiting.is_withdrawn = True
            raise HookError(f"the journal {self._path} is closed")
        return waiting

    def post(self, row: Row, intent: Waiting) -> None:
        """Queue a record that no caller waits for. It is written only if its intent is written."""
        if not self.is_closed:
            self.queue.add(Waiting(row, is_full=self._is_full, is_awaited=False, intent=intent))
            self._call_thread()

    def settle(self, waiting: Waiting) -> None:
        """Wait until a record is written, or write it in this thread.

        Raises:
            HookError: with a message that says why it cannot be written.
        """
        with self._held():
            if not waiting.is_done:
                self._drain()
        if waiting.error is not None:
            raise HookError(waiting.error)

    async def settle_async(self, waiting: Waiting) -> None:
        """Do the same in a task, without blocking the event loop."""
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
            HookError: with a message that says why they cannot be written. They stay queued.
        """
        with self._held():
            error = self._drain()
        if error is not None:
            raise HookError(error)

    def transact(self, do: Work) -> None:
        """Run work on the file in a transaction, after all queued records, and append the rows that
        it returns.

        Raises:
            HookError: with a message that says why it failed. In that case, nothing was changed.
        """
        with self._held():
            error = self._drain()
            if error is None:
                self._chain.commit(do, is_full=self._is_full)
        if error is not None:
            raise HookError(error)

    def close(self) -> None:
        """Write all queued records, and accept no more.

        Raises:
            HookError: if they cannot be written. They are lost, and counted.
        """
        was_closed, self.is_closed = self.is_closed, True
        if was_closed:
            return
        with self._held():
            error = self._drain()
            dropped = self.queue.give_up()
            if error is None:
                self._chain.leave()
            self._chain.disconnect()
        self._hurry.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if error is not None:
            _log.error("%s; the journal is closed, and %d records are lost", error, dropped)
            raise HookError(f"{error}; {dropped} records are lost")

    # -- the end of the program, and forks ---------------------------------------------------------

    def end(self) -> None:
        """Write all queued records at program exit. Later records are written immediately."""
        if self.is_closed:
            return
        self._is_ending = True
        self._wake.clear()
        with self._held():
            if self._drain() is None:
                self._chain.leave()
            self._chain.disconnect()

    def stand_still(self) -> bool:
        """Pause writing and close the connection before a fork. Return False on a timeout.
        """
        if self._owner == threading.get_ident() or not self._lock.acquire(timeout=15):
            return False
        self._chain.disconnect()
        return True

    def go_on(self) -> None:
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
            with self._held():
                error = self._drain()
            if error is not None:
                self._hurry.wait(RETRY_SECONDS)
                self._wake.set()

    def _drain(self) -> str | None:
        """Write all queued records, and return why they cannot be written, or None."""
        while self.queue:
            taken = self.queue.take(BATCH)
            error = self._append(taken)
            if error is not None:
                if not self._is_in_trouble:
                    _log.error("%s; records stay queued, and durable hooks are blocked", error)
                self._is_in_trouble = True
                return error
            self._is_in_trouble = False
        return None

    def _append(self, taken: list[Row | Waiting]) -> str | None:
        """Write these records in one commit, or put them back and return the reason."""
        rows = [each.row if isinstance(each, Waiting) else each for each in taken]
        awaited = [each for each in taken if isinstance(each, Waiting)]
        is_full = self._is_full or any(each.is_full for each in awaited)
        self._chain.is_committed = False
        try:
            if rows:
                self._chain.commit(lambda db: rows, is_full=is_full)
        except HookError as error:
            self.queue.put_back(taken, str(error))
            return str(error)
        except BaseException:
            if not self._chain.is_committed:
                self.queue.put_back(taken, "the writing was interrupted")
                raise
            _settle(awaited)
            raise
        _settle(awaited)
        return None


def _settle(written: list[Waiting]) -> None:
    for each in written:
        each.settle()
