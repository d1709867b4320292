"""Whose cancellation is it: that of the caller's task, or one that a receiver raised by itself."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

_settled_by_methods: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many cancellations of a task its own methods have swallowed. That is theirs to decide, as without hooks."""


settled: Final[Mapping[Any, int]] = _settled_by_methods.data  # type: ignore[attr-defined]  # pyright: ignore
"""The same, for who only asks whether there are any: the dictionary above takes longer to say than a receiver to answer."""


def running_task() -> Any:
    """Return the asyncio task that runs this code, or None."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None


def is_cancelled_error(error: BaseException | None) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def is_closing(error: BaseException | None) -> bool:
    """Tell whether an exception met at an `await` says that the coroutine is being closed; its receiver was closed first.

    Then it comes from Python itself. One that the receiver has raised has its frame in the traceback.
    """
    if error is None or (error.__traceback__ is not None and error.__traceback__.tb_next is not None):
        return False
    waits_again = type(error) is RuntimeError and error.args == ("coroutine ignored GeneratorExit",)
    return isinstance(error, GeneratorExit) or waits_again


class Cancels:
    """How often the running task has been cancelled by now, to tell later what has come since."""

    __slots__ = ("_count", "_task")

    def __init__(self) -> None:
        self._task = running_task()
        self._count = self.cancelling()

    @classmethod
    def since(cls, count: int, task: Any = None) -> Cancels:
        """Return what counts from when `cancelling()` was this; of the running task, or of the one given."""
        cancels = cls()
        if task is not None:
            cancels._task = task._task if isinstance(task, Cancels) else task
        cancels._count = count
        return cancels

    def cancelling(self) -> int:
        """Return how many cancellations are outstanding, without those that methods have swallowed."""
        if self._task is None:
            return 0
        requested: int = self._task.cancelling()
        settled = _settled_by_methods.get(self._task, 0) if _settled_by_methods else 0
        if settled > requested:  # what a method swallowed was taken back since, as `asyncio.timeout` does
            _settled_by_methods[self._task] = settled = requested
        return requested - settled

    def came(self) -> bool:
        """Tell whether the task was cancelled since."""
        return self._task is not None and self.cancelling() > self._count

    def explain(self, error: BaseException | None) -> bool:
        """Tell whether an exception is the caller's cancellation: the task was cancelled, or there is none to ask."""
        return is_cancelled_error(error) and (self._task is None or self.cancelling() > 0)

    def raise_if_came(self) -> None:
        if self.came():
            import asyncio

            raise asyncio.CancelledError("the call was cancelled, which an around has swallowed")

    def settle(self) -> None:
        """Let the cancellations that came since be the business of the method that swallowed them."""
        if self.came():
            came = self.cancelling() - self._count
            _settled_by_methods[self._task] = _settled_by_methods.get(self._task, 0) + came


def is_running(task: Any) -> bool:
    """Tell whether this task, or that of what counts for it, is the running one."""
    return (task._task if isinstance(task, Cancels) else task) is running_task()


def task_lookup() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return two fast functions: what gives the running loop, or None, and what gives the running task of a loop, or None."""
    import asyncio

    if sys.version_info >= (3, 12):
        return asyncio._get_running_loop, asyncio.current_task
    # There `current_task` is written in Python, and takes longer than five receivers.
    return asyncio._get_running_loop, asyncio.tasks._current_tasks.get  # type: ignore[attr-defined]
