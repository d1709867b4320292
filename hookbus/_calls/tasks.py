"""Tasks of asyncio in which observers run side by side: begun, counted, and waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from ..exceptions import HookError

_depth: ContextVar[int] = ContextVar("hookbus_depth", default=0)
"""How many tasks of observers are around the running code, one in the other."""

_stragglers: set[Any] = set()
"""Observers that refused to end with their call: held, so that the loop does not lose them."""


def begin(
    create_task: Callable[[Any], Any], make: Callable[[Any], Any], whose: Iterable[Any], refuse: Callable[[Any, HookError], Any]
) -> list[Any]:
    """Begin a task for each of these, of the coroutine that `make` gives.

    Where such tasks are inside each other without end it is that of `refuse`: Python's limit of recursion does not see from
    task to task.
    """
    depth = _depth.get() + 1
    if depth > sys.getrecursionlimit():
        endless = HookError("it calls in its own turn what asks it again, without end; end it by a condition")
        return [create_task(refuse(one, endless)) for one in whose]
    token = _depth.set(depth)
    try:
        return [create_task(make(one)) for one in whose]
    finally:
        _depth.reset(token)


async def settle(tasks: list[Any]) -> BaseException | None:
    """Wait until all are done that were just begun; return the cancellation of this task that came meanwhile, if any.

    The first one is passed on to the tasks in their order; a second one ends the waiting.
    """
    import asyncio

    cancel: BaseException | None = None
    has_yielded = False
    while tasks := [task for task in tasks if not task.done()]:
        try:
            await (asyncio.wait(tasks) if has_yielded else asyncio.sleep(0))  # most are done by then
        except asyncio.CancelledError as error:
            for task in tasks:
                task.cancel()
            if cancel is not None:
                _stragglers.update(tasks)
                for task in tasks:
                    task.add_done_callback(_stragglers.discard)
                break
            cancel = error
        has_yielded = True
    return cancel
