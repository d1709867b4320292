"""Runs hooks in the background. The numbers of running and queued hooks are limited; further hooks
are dropped and counted."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from hookbus import HookError

from ._errors import milliseconds, one_line

Job = tuple[Callable[[], Awaitable[Any]], str]


class Background:
    """Runs background work.

    Attributes:
        dropped: the number of items that were dropped because the queue was full.
    """

    def __init__(
        self, *, most_running: int = 16, most_queued: int = 256, seconds: float = 2.0,
        on_full: Literal["drop", "raise"] = "drop", on_drop: Callable[[str], object] | None = None,
        logger: logging.Logger | None = None,
    ) -> None:  # fmt: skip
        """Create an empty queue.

        Args:
            seconds: the time after which a running item is logged. The item continues and keeps its
                slot.
            on_full: `"drop"` logs and drops work if the queue is full; `"raise"` raises HookError.
            on_drop: called with the label of each dropped item.
        """
        if on_full not in ("drop", "raise"):
            raise HookError(f"on_full={on_full!r} is not a known value; write 'drop' or 'raise'")
        self._most_running, self._most_queued, self._seconds = most_running, most_queued, seconds
        self._on_full, self._on_drop = on_full, on_drop
        self._logger = logger or logging.getLogger("hookbus.adapters.openclaw")
        self._queue: deque[Job] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self.dropped: int = 0

    @property
    def running(self) -> int:
        """The number of items that are running."""
        return len(self._tasks)

    def start(self, work: Callable[[], Awaitable[Any]], label: str) -> bool:
        """Run `work` as soon as a slot is free, and return whether the work was accepted. The label
        is for logs and `on_drop`.

        Raises:
            HookError: if the queue is full, with `on_full="raise"`.
        """
        if self.running >= self._most_running and len(self._queue) >= self._most_queued:
            self.dropped += 1
            self._logger.warning("%s: queue full; dropping hook", label)
            if self._on_drop is not None:
                self._on_drop(label)
            if self._on_full == "raise":
                raise HookError(
                    f"the queue is full for {label}: {self.running} running and "
                    f"{len(self._queue)} waiting"
                )
            return False
        self._queue.append((work, label))
        self._fill()
        return True

    async def drain(self) -> None:
        """Wait until no item is running or queued."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _fill(self) -> None:
        while self._queue and self.running < self._most_running:
            task = asyncio.ensure_future(self._run(*self._queue.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._fill()

    async def _run(self, work: Callable[[], Awaitable[Any]], label: str) -> None:
        late = asyncio.get_running_loop().call_later(
            self._seconds, self._logger.warning, "%s: timed out after %dms", label,
            milliseconds(self._seconds),
        )  # fmt: skip
        try:
            await work()
        except Exception as error:
            self._logger.warning("%s: %s", label, one_line(error))
        finally:
            late.cancel()
