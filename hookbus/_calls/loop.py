"""Async receivers of a plain call: awaited on an event loop in a thread of their own, for which the
call waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final

from .._connections.wanted import is_awaitable
from .._locks import Lock
from ..exceptions import HookError
from .deadline import within
from .plan import Seat
from .threads import start_thread

__tracebackhide__: Final = True


class Loop:
    """An event loop in a daemon thread, begun when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._running: Any = None
        self._thread: threading.Thread | None = None

    def submit(self, make: Callable[[], Any]) -> Any:
        """Run the coroutine that `make` makes, in a copy of this context; return its future.

        Raises:
            HookError: in the very thread of the loop, which would wait for itself.
        """
        from asyncio import run_coroutine_threadsafe

        if threading.current_thread() is self._thread:
            raise HookError(
                "it is async, and this plain call was made by another async receiver of a plain "
                "call, whose loop it would have to wait for: write a plain def receiver"
            )
        return run_coroutine_threadsafe(make(), self._own())

    def _own(self) -> Any:
        import asyncio

        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                purpose = "async receivers of plain calls"
                try:
                    self._thread = start_thread(loop.run_forever, f"hookbus: {purpose}", purpose)
                except BaseException:
                    loop.close()
                    raise
                self._running = loop
            return self._running


_loop: Final = Loop()
os.register_at_fork(after_in_child=_loop.reset)


def elsewhere(seat: Seat, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call and await on the loop of such receivers, within the deadline where there is one; return
    the answer.
    """
    future = _loop.submit(lambda: _answer(seat, function, args, kwargs))
    try:
        value, error = future.result()
    except BaseException:  # this thread was interrupted
        future.cancel()
        raise
    if error is not None:
        try:
            raise error
        finally:
            del error, future
    return value


async def _answer(
    seat: Seat, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    """Return the answer and what was raised instead; a loop must not see what ends a program."""
    from asyncio import CancelledError

    try:
        answer = function(*args, **kwargs)
        if is_awaitable(answer):
            answer = await (answer if seat.timeout is None else within(seat, answer))
        return answer, None
    except CancelledError:
        return None, HookError("it was cancelled on the loop that it ran on")
    except BaseException as error:
        return None, error
