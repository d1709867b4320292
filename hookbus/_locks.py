"""Locks that a forked child can use: threads that held them do not live on in it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

from ._platform import run_at_fork

_all: Final[weakref.WeakSet[Lock]] = weakref.WeakSet()
_registering: Final = threading.RLock()


class Lock:
    """A re-entrant lock for a `with` block.

    In a forked child it is free, unless the thread that forked holds it.

    Args:
        reset: called in a child when another thread held the lock, which may have left what the
            lock protects half changed.
    """

    __slots__ = ("__weakref__", "_lock", "_reset")

    def __init__(self, reset: Callable[[], object] | None = None) -> None:
        self._lock, self._reset = threading.RLock(), reset
        with _registering:
            _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: Any) -> None:
        self._lock.release()

    def acquire(self, timeout: float = -1) -> bool:
        """Take the lock, and return whether it was free within so many seconds."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    def renew(self) -> None:
        """Free the lock from a thread that is gone."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._lock = threading.RLock()
        if self._reset is not None:
            self._reset()


def _at_fork() -> None:
    for lock in list(_all):
        lock.renew()
    _registering.release()


# The set must not change, nor its lock be lost, while the process forks.
run_at_fork(
    before=_registering.acquire,
    after_in_parent=_registering.release,
    after_in_child=_at_fork,
)
