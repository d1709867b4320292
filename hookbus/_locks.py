"""Locks that a forked child can use, and the one that changes of connections take without a GIL."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from ._platform import run_at_fork

P = ParamSpec("P")
R = TypeVar("R")

IS_FREE_THREADED: Final = "free-threading" in sys.version
"""Whether this build of Python can run without a GIL, also where the GIL is on just now."""

_all: Final[weakref.WeakSet[Lock]] = weakref.WeakSet()
_registering: Final = threading.RLock()


class _InC(property):
    """A method of what an object has: a `with` block calls that one itself, which is written in C.

    A Ctrl-C that arrived in a method in Python would leave the lock taken for good.
    """

    def __call__(self, owner: Any, *args: Any) -> Any:
        """Call it as a function of the class, as `contextlib.ExitStack` does."""
        return self.__get__(owner)(*args)


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

    if TYPE_CHECKING:

        def __enter__(self) -> object: ...
        def __exit__(self, *exception: Any) -> None: ...

    else:
        __enter__ = _InC(attrgetter("_lock.__enter__"))
        __exit__ = _InC(attrgetter("_lock.__exit__"))

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


_writing: Final = Lock()


def serialize_writers(function: Callable[P, R]) -> Callable[P, R]:
    """Let one thread at a time run such functions, which change what calls look up.

    Only builds without a GIL need a lock. With a GIL, which the functions rely on, a function is
    returned as it is. Calls never wait for the lock once it is known what runs them. The functions
    are short, and call no receivers, listeners or log handlers, which might wait for other threads.

    Args:
        function: what changes shared state.

    Returns:
        The function, or one that takes the lock around it.
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


# The set must not change, nor its lock be lost, while the process forks.
run_at_fork(
    before=_registering.acquire,
    after_in_parent=_registering.release,
    after_in_child=_at_fork,
)
