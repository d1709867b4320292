"""The queue of unwritten records, in order, and the threads and tasks that wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from ._chain import Row

LIMIT: Final = 100_000
"""The maximum number of queued records. If the queue is full, new records of non-durable hooks are
lost.
"""


class Waiting:
    """A record that must not be lost.

    Attributes:
        row: the row to write.
        is_full: whether it must survive a power failure.
        intent: the record that must be written before this one, or None.
        is_awaited: whether a caller waits for it and gets the error if it cannot be written.
            Otherwise writing is retried.
        wake: called, in any thread, when `is_done` becomes true.
        is_taken: whether it has been or is being written.
        is_done: whether it was written, or could not be written because of `error`.
        is_withdrawn: whether it must not be written any more, unless it is already taken.
    """

    wake: Callable[[], None] | None = None
    error: str | None = None
    is_taken = is_done = is_withdrawn = False

    def __init__(
        self, row: Row, *, is_full: bool, is_awaited: bool = True, intent: Waiting | None = None
    ) -> None:
        self.row, self.is_full, self.is_awaited, self.intent = row, is_full, is_awaited, intent

    def take(self) -> bool:
        """Return whether the record must be written now. If so, mark it as taken."""
        is_alone = self.intent is not None and not self.intent.is_taken
        self.is_taken = not self.is_withdrawn and not is_alone
        return self.is_taken

    def settle(self, error: str | None = None) -> None:
        """Note that the record was written, or why it could not be written."""
        self.error, self.is_done = error, True
        if error is not None:
            self.is_taken = False
        if self.wake is not None:
            self.wake()


class Queue:
    """The records to be written. Only one thread at a time removes them.

    Attributes:
        lost: the number of records that were refused or dropped.
    """

    def __init__(self) -> None:
        self._items: deque[Row | Waiting] = deque()
        self.lost = 0

    def __len__(self) -> int:
        return len(self._items)

    def offer(self, row: Row) -> bool:
        """Add a record that no caller waits for. Return False, and count it, if it is lost."""
        if len(self._items) >= LIMIT:
            self.lost += 1
            return False
        self._items.append(row)
        return True

    def add(self, waiting: Waiting) -> None:
        """Add a record that must not be lost."""
        self._items.append(waiting)

    def take(self, most: int) -> list[Row | Waiting]:
        """Remove and return the oldest records to write."""
        return [each for each in self._out(most) if not isinstance(each, Waiting) or each.take()]

    def put_back(self, taken: list[Row | Waiting], error: str) -> None:
        """Put back records that could not be written, and report the error to waiting callers."""
        remaining: list[Row | Waiting] = []
        for each in [*taken, *self._out(len(self._items))]:
            if isinstance(each, Waiting) and each.is_awaited:
                each.settle(error)
            else:
                remaining.append(each)
        self._items.extendleft(reversed(remaining))

    def give_up(self) -> int:
        """Drop all records, and return their number."""
        dropped = sum(1 for _ in self._out(len(self._items)))
        self.lost += dropped
        return dropped

    def _out(self, most: int) -> Iterator[Row | Waiting]:
        for _ in range(min(most, len(self._items))):
            yield self._items.popleft()
