"""Await async receivers of a sync call on an event loop in a separate thread, while the call waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .._callables.parameters import is_awaitable
from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..exceptions import HookError
from .daemon_threads import start_thread
from .deadline import Timed, timed, timed_async, within
from .real_threads import are_greenlets

__tracebackhide__: Final = True
PURPOSE: Final = "async receivers of sync calls"


class Loop:
    """An event loop in a daemon thread, started on first use."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._running: Any = None

    def submit(self, make: Callable[[], Any]) -> Any:
        """Run the coroutine that `make` returns on the loop, in a copy of this context, and return
        a future.

        Raises:
            HookError: in the thread of the loop, because the loop would have to wait for itself;
                and if threads are greenlets, because the loop would block all greenlets.
        """
        import asyncio

        if are_greenlets():
            raise HookError(
                "it is async, but gevent or eventlet has replaced the threads that async receivers "
                "of sync calls need: write a plain def receiver"
            )
        loop = self._own()
        if asyncio._get_running_loop() is loop:
            raise HookError(
                "it is async, but another async receiver of a sync call made this sync call, so "
                "the event loop would have to wait for itself: write a plain def receiver"
            )
        return asyncio.run_coroutine_threadsafe(make(), loop)

    def _own(self) -> Any:
        import asyncio

        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                try:
                    start_thread(loop.run_forever, f"hookbus: {PURPOSE}", PURPOSE)
                except BaseException:
                    loop.close()
                    raise
                self._running = loop
            return self._running


_loop: Final = Loop()
run_at_fork(after_in_child=_loop.reset)


def run_on_loop_thread(
    seat: Timed, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function, and await its answer on the shared event loop. The wait ends at the
    deadline, if there is one.
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
    seat: Timed, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    """Return the answer and None, or None and the exception that was raised. Exceptions such as
    KeyboardInterrupt must not reach the event loop.
    """
    from asyncio import CancelledError

    try:
        answer = function(*args, **kwargs)
        if is_awaitable(answer):
            answer = await (answer if seat.timeout is None else within(seat, answer))
        return answer, None
    except CancelledError:
        return None, HookError("it was cancelled on the event loop that it ran on")
    except BaseException as error:
        return None, error


class Waiting:
    """The functions that the calls of a bus use to wait for receivers."""

    timed = staticmethod(timed)
    timed_async = staticmethod(timed_async)
    within = staticmethod(within)
    run_on_loop_thread = staticmethod(run_on_loop_thread)

    def __init__(self, bus: Any) -> None:
        """Do nothing: this class exists so that the bus loads this package. The functions are the
        same for every bus.
        """
