"""Stops further calls of a cancelled run. Its tools may run in threads, which cannot be
interrupted, or in tasks that the framework does not cancel.
"""

from __future__ import annotations

import functools
import inspect
from asyncio import CancelledError, current_task
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from ._patches import Patches


class _Run:
    """A run in progress, possibly nested. Threads of the run find it in their context."""

    def __init__(self) -> None:
        self.outer, self.was_cancelled = _UNDER_WAY.get(), False
        self.task = current_task()

    @property
    def is_over(self) -> bool:
        """Whether the run was cancelled, even if the framework still waits for other work."""
        return self.was_cancelled or (self.task is not None and self.task.cancelling() > 0)


_UNDER_WAY: Final[ContextVar[_Run | None]] = ContextVar("hookbus_run", default=None)


def stop_if_cancelled() -> None:
    """Raise an exception if the current run, or a run around it, was cancelled.

    Raises:
        CancelledError: if such a run was cancelled.
    """
    run = _UNDER_WAY.get()
    while run is not None:
        if run.is_over:
            raise CancelledError("the run that this call belongs to was cancelled")
        run = run.outer


def follow(patches: Patches, cls: Any, *names: str) -> None:
    """Mark the run as cancelled when one of these async methods is cancelled or its stream is
    closed early. Threads and tasks that the method started can then call `stop_if_cancelled`.
    """
    for name in names:
        patches.wrap(cls, name, _followed)


def _followed(owner: type, stock: Any) -> Any:
    if inspect.isasyncgenfunction(stock):
        return _followed_stream(stock)

    @functools.wraps(stock)
    async def followed(*args: Any, **kwargs: Any) -> Any:
        run = _Run()
        previous = _UNDER_WAY.get()
        try:
            _UNDER_WAY.set(run)
            return await stock(*args, **kwargs)
        except CancelledError:
            run.was_cancelled = True
            raise
        finally:
            _UNDER_WAY.set(previous)

    return followed


def _followed_stream(stock: Any) -> Any:
    @functools.wraps(stock)
    async def followed(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        run = _Run()
        async with aclosing(stock(*args, **kwargs)) as items:
            while True:
                previous, run.task = _UNDER_WAY.get(), current_task()
                try:
                    _UNDER_WAY.set(run)
                    item = await anext(items)
                except StopAsyncIteration:
                    return
                except CancelledError:
                    run.was_cancelled = True
                    raise
                finally:
                    _UNDER_WAY.set(previous)
                try:
                    yield item
                except GeneratorExit:
                    run.was_cancelled = True
                    raise

    return followed
