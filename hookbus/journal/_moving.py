"""Moves records from the spool and from memory into the chain."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from .. import HookError
from ._append import Chain, Work
from ._file import id_of
from ._queue import Queue, Waiting
from ._recovery import left_spools, recover
from ._spool import Spool

BATCH: Final = 8192

_log: Final = logging.getLogger("hookbus")


class Mover:
    """Moves records into the chain of a file. Only one thread at a time may use it.

    Attributes:
        chain: the chain.
        spool: the records that are already on disk.
        queue: the records in memory.
        moved: the number of records from the spool that are in the chain.
        is_in_trouble: whether the last attempt to write the chain failed.
    """

    is_in_trouble = False

    def __init__(self, path: Path, *, is_full: bool) -> None:
        self._path, self._is_full = path, is_full
        self.chain, self._journal_id = Chain(path), id_of(path)
        self._left = left_spools(path, self._journal_id)
        self.moved = 0
        self._begin()

    def begin(self) -> None:
        """Start again in a forked child process, without the earlier records, which the parent
        process moves."""
        self.spool.leave_to_parent()
        for each in self._left:
            each.close()
        self._left = []
        self.chain.begin()
        self._begin()

    def _begin(self) -> None:
        self.queue = Queue()
        self.spool, self.moved = Spool(self._path, self._journal_id, self.chain.run), 0

    @property
    def backlog(self) -> int:
        """The number of records that are not in the chain yet."""
        return self.spool.written - self.moved + len(self.queue)

    @property
    def has_left_spools(self) -> bool:
        """Whether there are records of processes that were killed."""
        return bool(self._left)

    def drain(self) -> str | None:
        """Move all current records. Return the reason if they cannot be moved, or None."""
        target = self.spool.end()
        error = self.move(BATCH)
        while error is None and (self.queue or self.spool.position < min(target, self.spool.end())):
            error = self.move(BATCH)
        return error

    def move(self, most: int) -> str | None:
        """Move the oldest records, at most this number from the spool and the same number from
        memory. Return the reason if they cannot be moved, or None.
        """
        try:
            while self._left:
                recover(self._left[0], self.chain)
                self._left.pop(0)
            self._move(most)
        except HookError as error:
            if not self.is_in_trouble:
                _log.error("%s; records stay queued, and durable hooks are blocked", error)
            self.is_in_trouble = True
            return str(error)
        self.is_in_trouble = False
        return None

    def end(self) -> None:
        """Move all records at program exit, and close the files until more records arrive."""
        is_moved = self.drain() is None
        if self.spool.close() is None and is_moved:
            self.chain.leave(keeps_position=self.spool.is_left)
        self.chain.disconnect()

    def close(self) -> str | None:
        """Move all records, and accept no further records. Return a description of the problem if
        records remain, or None."""
        self.spool.stop()
        problem, waiting = self.drain(), self.backlog
        dropped = self.queue.give_up()
        kept = self.spool.close()
        for each in self._left:
            each.close()
        if problem is None:
            self.chain.leave(keeps_position=self.spool.is_left)
        self.chain.disconnect()
        if problem is not None and kept is not None:
            problem += f"; {waiting - dropped} records stay in {kept} for the next Journal(path)"
        if problem is not None and dropped:
            problem += f"; {dropped} records are lost"
        return problem

    def transact(self, do: Work) -> None:
        """Run work on the file in a transaction, and append the rows that it returns.

        Raises:
            HookError: if the transaction fails; the message states the reason.
        """
        self.chain.commit(do, is_full=self._is_full)

    def _move(self, most: int) -> None:
        """Move some records in one commit. If this fails, put the records from memory back into the
        queue.

        Raises:
            HookError: if the chain cannot be written.
        """
        self.spool.check()
        self._count_lost()
        written, end, after = self.spool.written, self.spool.end(), self.queue.next_after()
        until = end if after is None else min(after, end)
        rows, position, damaged = self.spool.read(until, most)
        taken = self.queue.take(most, max(position, after or 0) if position >= end else position)
        moved = written if position >= end else self.moved + len(rows) + damaged
        new_position = position if rows else None
        rows += [each.row for each in taken]
        is_full = self._is_full or any(each.is_full for each in taken)
        self.chain.is_committed = False
        try:
            if rows:
                self.chain.commit(lambda db: rows, is_full=is_full, position=new_position)
        except HookError as error:
            self.queue.put_back(taken, str(error))
            raise
        except BaseException:
            if not self.chain.is_committed:
                self.queue.put_back(taken, "the write was interrupted")
                raise
            self._moved_to(position, moved, taken, damaged)
            raise
        self._moved_to(position, moved, taken, damaged)

    def _count_lost(self) -> None:
        """Count the records that were lost because the file of the spool was lost."""
        lost = self.spool.lost_until - self.moved
        if lost > 0:
            self.moved = self.spool.lost_until
            self.queue.lost += lost
            _log.error("%s: %d records were lost with its spool", self._path, lost)

    def _moved_to(
        self, position: int, moved: int, written: list[Waiting], damaged: int
    ) -> None:
        self.spool.position, self.moved = position, moved
        if damaged:
            self.queue.lost += damaged
            _log.error("%s: %d records in its spool are damaged and lost", self._path, damaged)
        for each in written:
            each.settle()
        self.spool.shorten()
