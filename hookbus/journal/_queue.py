"""What waits to be written: records in the order they were told, and who waits for which."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from ._chain import Row

LIMIT: Final = 100_000
"""So many records wait at most; of hooks that are not durable, what is over that is lost."""


class Waiting:
    """A record that must not be lost.

    Attributes:
        row: what is written.
        is_full: whether it is to outlive a power cut, too.
        intent: the record without which this one is not written, or None.
        is_awaited: whether somebody waits for it and is told if it cannot be written; else it is
            tried again.
        wake: called, in whatever thread, when it is settled.
        is_taken: whether it is, or is just being written.
        is_done: whether it is settled: written, or not for the reason `error`.
        is_withdrawn: whether it is not to be written any more, if it is not taken yet.
    """

    wake: Callable[[], None] | None = None
    error: str | None = None
    is_taken = is_done = is_withdrawn = False

    def __init__(
        self, row: Row, *, is_full: bool, is_awaited: bool = True, intent: Waiting | None = None
    ) -> None:
        self.row, self.is_full, self.is_awaited, self.intent = row, is_full, is_awaited, intent

    def take(self) -> bool:
        """Tell whether it is to be written, now that it is its turn."""
        is_alone = self.intent is not None and not self.intent.is_taken
        self.is_taken = not self.is_withdrawn and not is_alone
        return self.is_taken

    def settle(self, error: str | None = None) -> None:
        """Say that it is written, or why it cannot be."""
        self.error, self.is_done = error, True
        if error is not None:
            self.is_taken = False
        if self.wake is not None:
            self.wake()


class Queue:
    """Records that wait to be written. One thread at a time takes them out.

    Attributes:
        lost: how many were not taken in, or given up.
    """

    def __init__(self) -> None:
        self._items: deque[Row | Waiting] = deque()
        self.lost = 0

    def __len__(self) -> int:
        return len(self._items)

    def offer(self, row: Row) -> bool:
        """Take in a record that nobody waits for, or count it as lost: False."""
        if len(self._items) >= LIMIT:
            self.lost += 1
            return False
        self._items.append(row)
        return True

    def add(self, waiting: Waiting) -> None:
        """Take in a record that must not be lost."""
        self._items.append(waiting)

    def take(self, most: int) -> list[Row | Waiting]:
        """Take out the oldest of what is to be written."""
        return [each for each in self._out(most) if not isinstance(each, Waiting) or each.take()]

    def put_back(self, taken: list[Row | Waiting], error: str) -> None:
        """Put back what could not be written; whoever waits for something is told why not."""
        kept: list[Row | Waiting] = []
        for each in [*taken, *self._out(len(self._items))]:
            if isinstance(each, Waiting) and each.is_awaited:
                each.settle(error)
            else:
                kept.append(each)
        self._items.extendleft(reversed(kept))

    def give_up(self) -> int:
        """Drop all, and return how many that were."""
        dropped = sum(1 for _ in self._out(len(self._items)))
        self.lost += dropped
        return dropped

    def _out(self, most: int) -> Iterator[Row | Waiting]:
        for _ in range(min(most, len(self._items))):
            yield self._items.popleft()
