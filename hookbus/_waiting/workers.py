"""Run sync receivers with a deadline or in the background, in a limited number of daemon threads. A
thread cannot be stopped, only abandoned.
"""

from __future__ import annotations

import queue
import weakref
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from .daemon_threads import start_thread
from .real_threads import thread_starter

if TYPE_CHECKING:
    from concurrent.futures import Future

LIMIT: Final = 64
"""The maximum number of worker threads in a pool. If all threads are busy, a receiver waits for a
thread until the receiver's deadline.
"""

IDLE_SECONDS: Final = 10.0

Pair = tuple[Any, BaseException | None]
"""The value that a function returned, or the exception that it raised."""

Job = tuple["Future[Pair]", Context, Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Workers:
    """A pool of threads. It starts a thread if no thread is idle, and ends threads that stay idle.
    """

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        # Reentrant, because a signal handler or finalizer may make a call while this thread holds
        # it.
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._pool: _Pool | None = None
        self._overdue: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def submit(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Future[Pair], Context]:
        """Run a function in a worker thread, in a copy of this context. The result of the future is
        a pair: a value, and the exception or None. The future never raises.
        """
        from concurrent.futures import (
            Future,  # imports logging, so import it only for deadlines
        )

        future: Future[Pair] = Future()
        context = copy_context()
        self._pool_here().add((future, context, function, args, kwargs))
        return future, context

    def _pool_here(self) -> _Pool:
        with self._lock:
            if self._pool is None or self._pool.starter is not thread_starter():
                self._pool = _Pool(self._purpose)
            return self._pool

    def abandon(self, future: Future[Pair], bus: Any) -> None:
        """Stop waiting for a job. Cancel the job if it has not started. Otherwise, count its worker
        as overdue until the job returns.
        """
        if future.done() or future.cancel():
            return
        self._count_overdue(bus, +1)
        future.add_done_callback(lambda _: self._count_overdue(bus, -1))

    def overdue(self, bus: Any) -> int:
        """Return the number of workers that still run a receiver of this bus past its deadline.
        """
        return self._overdue.get(bus, 0)

    def _count_overdue(self, bus: Any, change: int) -> None:
        with self._lock:
            self._overdue[bus] = self._overdue.get(bus, 0) + change


class _Pool:
    """The threads and the queue of a pool. They are created on first use, because gevent and
    eventlet may patch threads, locks and queues after hookbus is imported.

    Attributes:
        starter: the function that started threads at the creation of the pool.
    """

    def __init__(self, purpose: str) -> None:
        self.starter, self._purpose = thread_starter(), purpose
        self._lock = Lock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._threads = 0
        self._unfinished = 0

    def add(self, job: Job) -> None:
        with self._lock:
            self._unfinished += 1
            needs_thread = self._unfinished > self._threads and self._threads < LIMIT
            self._threads += needs_thread
        if needs_thread:
            try:
                start_thread(self._work, "hookbus-worker", self._purpose)
            except BaseException:
                with self._lock:
                    self._threads -= 1
                    self._unfinished -= 1
                raise
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            try:
                future, context, function, args, kwargs = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._unfinished >= self._threads:
                        continue
                    self._threads -= 1
                return
            if future.set_running_or_notify_cancel():
                try:
                    pair: Pair = context.run(function, *args, **kwargs), None
                except BaseException as error:  # the waiting thread raises it
                    pair = None, error
                future.set_result(pair)
            with self._lock:
                self._unfinished -= 1
            pair = None, None  # the result may reference an agent
            del future, context, function, args, kwargs, pair


workers: Final = Workers("deadlines")

background: Final = Workers("sync background observers")
"""A separate pool for background observers, so that observers never take a thread from a guard."""

# A forked child does not have the threads of its parent.
for _pool in (workers, background):
    run_at_fork(after_in_child=_pool.reset)
