"""Locks that work in a forked child, and the lock that protects changes of connections in Python
without a GIL.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from .platform import run_at_fork

P = ParamSpec("P")
R = TypeVar("R")

IS_FREE_THREADED: Final = "free-threading" in sys.version
"""Whether this build of Python can run without a GIL, even if the GIL is on now."""

_all: Final[weakref.WeakSet[Lock]] = weakref.WeakSet()
_registering: Final = threading.RLock()


class _InC(property):
    """A descriptor that returns a C method of an attribute, so that a `with` block calls this
    method directly. A Ctrl-C inside a method written in Python could leave the lock acquired
    forever.
    """

    def __call__(self, owner: Any, *args: Any) -> Any:
        """Call the method through the class, as `contextlib.ExitStack` does."""
        return self.__get__(owner)(*args)


class Lock:
    """A reentrant lock for a `with` block. In a forked child, the lock is free unless the thread
    that forked holds it.

    Args:
        reset: called in a forked child if another thread held the lock, because that thread may
            have left the protected data in an inconsistent state.
    """

    __slots__ = ("__weakref__", "_lock", "_reset")

    def __init__(self, reset: Callable[[], object] | None = None) -> None:
        self._lock, self._reset = threading.RLock(), reset
        with _registering:
            _all.add(self)

    if TYPE_CHECKING:

        def __enter__(self) -> object: ...
        def __exit__(self, *exception: Any) -> None: ...

    else:
        __enter__ = _InC(attrgetter("_lock.__enter__"))
        __exit__ = _InC(attrgetter("_lock.__exit__"))

    def acquire(self, timeout: float = -1) -> bool:
        """Acquire the lock. Return whether the lock was acquired within `timeout` seconds."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def renew(self) -> None:
        """Replace the lock if the thread that held it no longer exists."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._lock = threading.RLock()
        if self._reset is not None:
            self._reset()


_writing: Final = Lock()


def serialize_writers(function: Callable[P, R]) -> Callable[P, R]:
    """Make functions that change shared lookup data run in only one thread at a time.

    Only builds without a GIL need a lock. With a GIL, the function is returned unchanged, because
    the GIL already protects it. Calls never wait for the lock after their plan is built. Use this
    decorator only for short functions that call no receivers, listeners or log handlers, because
    these might wait for other threads.

    Args:
        function: a function that changes shared data.

    Returns:
        The function itself, or a wrapper that holds the lock during a call.
    """
    if not IS_FREE_THREADED:
        return function

    @functools.wraps(function)
    def run_alone(*args: P.args, **kwargs: P.kwargs) -> R:
        with _writing:
            return function(*args, **kwargs)

    return run_alone


def _at_fork() -> None:
    for lock in list(_all):
        lock.renew()
    _registering.release()


# During a fork, the set must not change, and its lock must not stay acquired in the child.
run_at_fork(
    before=_registering.acquire,
    after_in_parent=_registering.release,
    after_in_child=_at_fork,
)
