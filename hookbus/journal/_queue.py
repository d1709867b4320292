"""The queue of unwritten records, in order, and the threads and tasks that wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from ._chain import Row

LIMIT: Final = 100_000
"""The maximum number of queued records while the file cannot be written. Further records of hooks
that are not durable are lost.
"""


class Waiting:
    """A record in memory.

    Attributes:
        row: the row to write.
        after: the position in the spool up to which records must be written before this record.
        is_full: whether the record must survive a power failure.
        intent: the intent that must be written before this record, or None.
        is_awaited: whether a caller waits for the record, and gets the error if the record cannot
            be written. Otherwise, writing is retried.
        wake: called, in any thread, when `is_done` becomes true.
        is_taken: whether the record was written or is being written.
        is_done: whether the record was written, or failed with `error`.
        is_withdrawn: whether the record must not be written anymore, unless it is already taken.
    """

    wake: Callable[[], None] | None = None
    error: str | None = None
    is_taken = is_done = is_withdrawn = False

    def __init__(
        self, row: Row, after: int, *, is_full: bool, is_awaited: bool = True,
        intent: Waiting | None = None,
    ) -> None:  # fmt: skip
        self.row, self.after, self.intent = row, after, intent
        self.is_full, self.is_awaited = is_full, is_awaited

    def take(self) -> bool:
        """Return whether the record must be written now. In this case, mark the record as taken."""
        is_alone = self.intent is not None and not self.intent.is_taken
        self.is_taken = not self.is_withdrawn and not is_alone
        return self.is_taken

    def settle(self, error: str | None = None) -> None:
        """Mark the record as written, or store the error of a failed write."""
        self.error, self.is_done = error, True
        if error is not None:
            self.is_taken = False
        if self.wake is not None:
            self.wake()


class Queue:
    """The records to be written. Only one thread at a time may remove records.

    Attributes:
        lost: the number of records that were refused or dropped.
    """

    def __init__(self) -> None:
        self._items: deque[Waiting] = deque()
        self.lost = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, waiting: Waiting) -> None:
        """Add a record."""
        self._items.append(waiting)

    def next_after(self) -> int | None:
        """Return the position up to which the spool must be moved before the oldest record, or None
        if the queue is empty.
        """
        try:
            return self._items[0].after
        except IndexError:
            return None

    def take(self, most: int, position: int) -> list[Waiting]:
        """Remove and return the oldest records that can be written after the spool was written up
        to this position.
        """
        taken: list[Waiting] = []
        while len(taken) < most and self._items and self._items[0].after <= position:
            each = self._items.popleft()
            if each.take():
                taken.append(each)
        return taken

    def put_back(self, taken: list[Waiting], error: str) -> None:
        """Put back records that could not be written, and report the error to waiting callers."""
        remaining: list[Waiting] = []
        for each in [*taken, *self._out()]:
            if each.is_awaited:
                each.settle(error)
            else:
                remaining.append(each)
        self._items.extendleft(reversed(remaining))

    def give_up(self) -> int:
        """Drop all records, and return their number."""
        dropped = sum(1 for _ in self._out())
        self.lost += dropped
        return dropped

    def _out(self) -> Iterator[Waiting]:
        for _ in range(len(self._items)):
            yield self._items.popleft()
