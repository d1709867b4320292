"""Daemon threads for sync receivers with a deadline, capped and counted: a thread cannot be stopped, only left behind."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from ..exceptions import HookError

if TYPE_CHECKING:
    from concurrent.futures import Future

LIMIT = 64
"""How many worker threads there may be. Where all are stuck, a receiver waits for one until its own deadline."""

IDLE_SECONDS = 10.0

Pair = tuple[Any, BaseException | None]
"""A value, and the exception that came instead of it."""


class Workers:
    """A pool that starts a thread when none is free, and lets an idle one go."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[Future[Pair], Context, Callable[[], Any]]] = queue.SimpleQueue()
        self._threads = 0
        self._unfinished = 0
        self.overdue = 0

    def submit(self, call: Callable[[], Any]) -> Future[Pair]:
        """Run `call` in a worker, in a copy of this context; the future's result is a pair and never raises."""
        future = _new_future()
        with self._lock:
            self._unfinished += 1
            needs_thread = self._unfinished > self._threads and self._threads < LIMIT
            self._threads += needs_thread
        if needs_thread:
            self._start_thread()
        self._jobs.put((future, copy_context(), call))
        return future

    def abandon(self, future: Future[Pair]) -> None:
        """Stop waiting for a job: take it back if it has not begun, else count its worker until it returns."""
        if future.cancel() or future.done():
            return
        self._count_overdue(+1)
        future.add_done_callback(lambda _: self._count_overdue(-1))

    def _count_overdue(self, change: int) -> None:
        with self._lock:
            self.overdue += change

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._work, name="hookbus-worker", daemon=True).start()
        except BaseException:
            with self._lock:
                self._threads -= 1
                self._unfinished -= 1
            raise

    def _work(self) -> None:
        while True:
            try:
                future, context, call = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._unfinished >= self._threads:
                        continue
                    self._threads -= 1
                return
            if future.set_running_or_notify_cancel():
                future.set_result(_attempt(partial(context.run, call)))
            with self._lock:
                self._unfinished -= 1
            del future, context, call


def _new_future() -> Future[Pair]:
    from concurrent.futures import Future  # with logging behind it, half of what the first call of a program would load

    return Future()


def _attempt(call: Callable[[], Any]) -> Pair:
    try:
        return call(), None
    except BaseException as error:  # carried to the thread that waits, which raises it
        return None, error


workers = Workers()
# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=workers._reset)


class Deadline:
    """The seconds a receiver has of its own; the clock stands still while it waits in `call_next`.

    Attributes:
        host: the thread that waits for the receiver, where it runs in a worker.
        on_change: told the seconds left, or None, whenever the clock starts or stops.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.host: Host | None = None
        self.on_change: Callable[[float | None], None] | None = None
        self._left = seconds
        self._running_since: float | None = None
        self._stops = 1

    @property
    def left(self) -> float:
        since = self._running_since
        return max(0.0, self._left if since is None else self._left - (time.monotonic() - since))

    def start(self) -> None:
        self._stops -= 1
        if not self._stops:
            self._running_since = time.monotonic()
            if self.on_change is not None:
                self.on_change(self._left)

    def stop(self) -> None:
        self._stops += 1
        if self._stops == 1:
            self._left, self._running_since = self.left, None
            if self.on_change is not None:
                self.on_change(None)

    def error(self) -> TimeoutError:
        return TimeoutError(f"no answer within {self.seconds:g} seconds")


class Host:
    """A waiting thread that runs what its worker may not: the inner part of a call, for a sync around with a deadline."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[Callable[[], Any], Future[Pair]] | None] = queue.SimpleQueue()
        self._is_closed = False

    def run(self, call: Callable[[], Any]) -> Any:
        """Called in the worker: have the waiting thread run `call`, and return or raise what it did."""
        reply = _new_future()
        self._inbox.put((call, reply))
        if self._is_closed:
            self._refuse_all()
        return unpair(reply.result())

    def wait_for(self, call: Callable[[], Any], deadline: Deadline) -> Pair:
        """Run `call` in a worker until the deadline, serving what it asks for meanwhile."""
        job = workers.submit(call)
        job.add_done_callback(lambda _: self._inbox.put(None))
        deadline.start()
        try:
            while True:
                try:
                    request = self._inbox.get(timeout=deadline.left)
                except queue.Empty:
                    return None, deadline.error()
                if request is None:
                    return job.result()
                deadline.stop()
                wanted, reply = request
                reply.set_result(_attempt(wanted))
                deadline.start()
        finally:
            deadline.stop()
            workers.abandon(job)
            self._is_closed = True
            self._refuse_all()

    def _refuse_all(self) -> None:
        while True:
            try:
                request = self._inbox.get_nowait()
            except queue.Empty:
                return
            if request is not None:
                request[1].set_result((None, HookError("call_next was used after its around had ended")))


def unpair(pair: Pair) -> Any:
    """Return the value of a pair, or raise its exception."""
    value, error = pair
    if error is None:
        return value
    context = error.__context__
    try:
        raise error
    finally:
        # Raising again where the caller handles another exception would overwrite the context the body gave it; and an
        # exception that holds its own frame would keep the call's objects alive.
        error.__context__ = context
        del pair, error, context
