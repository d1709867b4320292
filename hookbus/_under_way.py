"""Who is under way in the background of a bus: so many at most, counted, and waited for."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ._locks import Lock
from ._loops import running_asyncio
from ._platform import run_at_fork
from .exceptions import HookError

if TYPE_CHECKING:
    from concurrent.futures import Future

EXIT_SECONDS: Final = 2.0
"""How long the end of the program waits for what is under way, on all buses together."""

SWEEP_SECONDS: Final = 1.0

_RUN: ContextVar[Any] = ContextVar("hookbus_background", default=None)
"""The run that the running code is a part of."""

_all: Final[weakref.WeakSet[UnderWay]] = weakref.WeakSet()


class UnderWay:
    """The runs in the background of one bus, those that wait for a thread among them.

    A run has a `label`, a `loop` once an event loop runs it, and `ended(answer, error)`.

    Attributes:
        limit: how many there may be at once.
        dropped: how many were not begun as there were so many.
    """

    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise HookError(
                f"max_background={limit!r} must be a whole number from 1: how many observers may be "
                "under way at once"
            )
        self.limit, self.dropped, self._swept = limit, 0, 0.0
        # Re-entrant, as a signal handler or a finaliser may make a call where this thread holds it.
        self._lock = Lock()
        self.reset()
        _all.add(self)

    def reset(self) -> None:
        self._runs: set[Any] = set()
        self._waiting: dict[Future[None], Any] = {}

    def admit(self, run: Any) -> None:
        """Count a run.

        Raises:
            HookError: when there are too many: it is dropped.
        """
        if len(self._runs) >= self.limit and time.monotonic() - self._swept > SWEEP_SECONDS:
            self._swept = time.monotonic()
            self.left()
        with self._lock:
            if len(self._runs) < self.limit:
                self._runs.add(run)
                return
            self.dropped += 1
        raise HookError(
            f"it was dropped: {self.limit} observers are under way in the background; "
            "Bus(max_background=) allows more"
        )

    def release(self, run: Any) -> None:
        """Count a run no longer; one that is not counted is left alone."""
        with self._lock:
            self._runs.discard(run)
        self._wake()

    def left(self, run: Any = None) -> int:
        """Return how many are under way, for a run: besides those that wait for others.

        One whose event loop was closed has ended: it fails.
        """
        with self._lock:
            runs = self._runs.copy()
            lost = {each for each in runs if each.loop is not None and each.loop.is_closed()}
            self._runs -= lost
        for each in lost:
            each.ended(None, HookError("its event loop was closed before it had ended"))
        return self._count(run)

    @property
    def labels(self) -> list[str]:
        """Who is under way, each once."""
        return sorted({run.label for run in self._runs.copy()})

    @contextmanager
    def awaited(self) -> Iterator[tuple[Future[None], Any]]:
        """Give a future that is done when nobody is under way, and the run it is given to, or None.

        A run waits for no other run that waits: that would be for ever.
        """
        from concurrent.futures import Future

        future, run = Future[None](), _RUN.get()
        self._waiting[future] = run = run if run in self._runs else None
        try:
            self.left()
            self._wake()
            yield future, run
        finally:
            self._waiting.pop(future, None)

    def _count(self, run: Any) -> int:
        return len(self._runs.difference(() if run is None else [*self._waiting.values()]))

    def _wake(self) -> None:
        with self._lock:
            done = [
                future for future, run in list(self._waiting.items())
                if not (future.running() or future.done() or self._count(run))
                and future.set_running_or_notify_cancel()
            ]  # fmt: skip
        for future in done:
            future.set_result(None)


class Drained:
    """What a bus offers to wait for what is under way in its background."""

    _under_way: UnderWay

    async def drain(self, seconds: float) -> int:
        """Wait until nothing is under way in the background, whatever loop or thread it runs in.

        Called by an observer in the background, it waits for the others.

        Args:
            seconds: how long to wait at most; 0 only looks.

        Returns:
            How many observers are still under way: 0 where all have ended.

        Raises:
            HookError: where no event loop of asyncio runs, or the seconds are no time to wait.
        """
        _check(seconds)
        asyncio = running_asyncio()
        if asyncio is None:
            raise HookError("drain() is awaited on an event loop of asyncio: call drain_sync()")
        with self._under_way.awaited() as (future, run):
            await asyncio.wait({asyncio.wrap_future(future)}, timeout=seconds)
            return self._under_way.left(run)

    def drain_sync(self, seconds: float) -> int:
        """Wait as `drain` does, in plain code.

        Args:
            seconds: how long to wait at most; 0 only looks.

        Returns:
            How many observers are still under way: 0 where all have ended.

        Raises:
            HookError: where an event loop runs, which this would hold up, or the seconds are no
                time to wait.
        """
        _check(seconds)
        if running_asyncio() is not None:
            raise HookError("drain_sync() would hold up the event loop: write await bus.drain()")
        return _wait(self._under_way, seconds)


def belong_to(run: Any) -> None:
    """Say that what runs here, and what it starts, is a part of this run."""
    _RUN.set(run)


def _wait(under_way: UnderWay, seconds: float) -> int:
    from concurrent.futures import wait

    with under_way.awaited() as (future, run):
        wait([future], seconds)
        return under_way.left(run)


def _check(seconds: float) -> None:
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise HookError(f"{seconds!r:.60} is no number of seconds to wait; 0 only looks")


@atexit.register
def _at_exit() -> None:
    """Give what is under way a moment, and say what had not ended by then."""
    end = time.monotonic() + EXIT_SECONDS
    busy = [under_way for under_way in list(_all) if under_way.left()]
    left = sum(_wait(under_way, max(0.0, end - time.monotonic())) for under_way in busy)
    if left:
        import logging

        labels = [label for under_way in busy for label in under_way.labels]
        logging.getLogger("hookbus").warning(
            "%d observer%s in the background had not ended when Python did: %s; "
            "bus.drain(seconds) waits for what is under way",
            left, "" if left == 1 else "s", ", ".join(labels),
        )  # fmt: skip


def _at_fork() -> None:
    # What is under way goes on in the parent, and nowhere else.
    for under_way in list(_all):
        under_way.reset()


run_at_fork(after_in_child=_at_fork)
