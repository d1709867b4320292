"""The running background observers of a bus: limit them, count them, and wait for them."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from .._ground.locks import Lock
from .._ground.numbers import is_number
from .._ground.platform import run_at_fork, run_last_at_exit
from .._ground.running_loop import running_asyncio
from ..exceptions import HookError

if TYPE_CHECKING:
    from concurrent.futures import Future

EXIT_SECONDS: Final = 2.0
"""The time in seconds that the interpreter waits at exit for the background observers of all
buses.
"""

SWEEP_SECONDS: Final = 1.0

_RUN: ContextVar[Any] = ContextVar("hookbus_background", default=None)
"""The background run that the running code belongs to, or None."""

_all: Final[weakref.WeakSet[BackgroundTasks]] = weakref.WeakSet()


class BackgroundTasks:
    """The background runs of one bus, including runs that still wait for a thread.

    A run has a `label`, a method `ended(answer, error)`, and a `loop` if an event loop runs it.

    Attributes:
        limit: the maximum number of runs at one time.
        dropped: the number of runs that did not start because of the limit.
        start: the method of `Background` that starts an observer.
    """

    start: Callable[..., None]

    def __init__(self, limit: int) -> None:
        self.limit, self.dropped, self._swept = limit, 0, 0.0
        # Reentrant, because a signal handler or finalizer may make a call while this thread holds
        # it.
        self._lock = Lock()
        self.reset()
        _all.add(self)

    def reset(self) -> None:
        self._runs: set[Any] = set()
        self._waiting: dict[Future[None], Any] = {}

    def admit(self, run: Any) -> None:
        """Count a new run.

        Raises:
            HookError: if the limit is reached. In that case, the run is dropped.
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
            f"the call of this observer was dropped: {self.limit} observers are running in the "
            "background already; Bus(max_background=) sets the limit"
        )

    def release(self, run: Any) -> None:
        """Stop counting a run. If the run is not counted, do nothing."""
        with self._lock:
            self._runs.discard(run)
        self._wake()

    def left(self, run: Any = None) -> int:
        """Return the number of running observers. If `run` is passed, exclude this run and the runs
        that wait in the same way. If the event loop of a run was closed, the run has ended and has
        failed.
        """
        with self._lock:
            runs = self._runs.copy()
            lost = {each for each in runs if each.loop is not None and each.loop.is_closed()}
            self._runs -= lost
        for each in lost:
            each.ended(None, HookError("its event loop was closed before the observer finished"))
        return self._count(run)

    @property
    def labels(self) -> list[str]:
        """The labels of the running observers, without duplicates."""
        return sorted({run.label for run in self._runs.copy()})

    async def drain(self, seconds: float) -> int:
        """Wait until no observer is running, as `Bus.drain` describes."""
        _check(seconds)
        asyncio = running_asyncio()
        if asyncio is None:
            raise HookError("drain() needs a running asyncio event loop: call drain_sync() here")
        with self.awaited() as (future, run):
            await asyncio.wait({asyncio.wrap_future(future)}, timeout=seconds)
            return self.left(run)

    def drain_sync(self, seconds: float) -> int:
        """Wait until no observer is running, as `Bus.drain_sync` describes."""
        _check(seconds)
        if running_asyncio() is not None:
            raise HookError("drain_sync() would block the event loop: write await bus.drain()")
        return _wait(self, seconds)

    @contextmanager
    def awaited(self) -> Iterator[tuple[Future[None], Any]]:
        """Yield a future that is done when no observer is running, and the run that waits for it,
        or None. A run does not wait for other waiting runs, because they would wait for each other
        forever.
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


def belong_to(run: Any) -> None:
    """Mark the running code, and all code that it starts, as part of this run."""
    _RUN.set(run)


def _wait(tasks: BackgroundTasks, seconds: float) -> int:
    from concurrent.futures import wait

    with tasks.awaited() as (future, run):
        wait([future], seconds)
        return tasks.left(run)


def _check(seconds: float) -> None:
    if not is_number(seconds) or not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise HookError(f"{seconds!r:.60} is not a number of seconds; 0 returns immediately")


def _at_exit() -> None:
    """Wait briefly for background observers, and log the observers that are still running
    afterwards.
    """
    end = time.monotonic() + EXIT_SECONDS
    busy = [tasks for tasks in list(_all) if tasks.left()]
    left = sum(_wait(tasks, max(0.0, end - time.monotonic())) for tasks in busy)
    if left:
        import logging

        labels = [label for tasks in busy for label in tasks.labels]
        logging.getLogger("hookbus").warning(
            "%d background observer%s had not finished when the interpreter exited: %s; "
            "call bus.drain(seconds) before the end to wait for them",
            left, "" if left == 1 else "s", ", ".join(labels),
        )  # fmt: skip


def _at_fork() -> None:
    # Background observers continue only in the parent process.
    for tasks in list(_all):
        tasks.reset()


run_at_fork(after_in_child=_at_fork)
run_last_at_exit(_at_exit)
