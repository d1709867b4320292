"""Await async receivers of a sync call on an event loop in a separate thread, while the call waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final

from .._callables.parameters import is_awaitable
from .._ground.locks import Lock
from .._ground.platform import run_at_fork
from ..exceptions import HookError
from .daemon_threads import start_thread
from .deadline import Timed, timed, timed_async, within
from .real_threads import are_greenlets, start_real_thread, thread_starter

__tracebackhide__: Final = True
PURPOSE: Final = "async receivers of sync calls"


class Loop:
    """An event loop in a daemon thread of the operating system, started on first use."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._starter = thread_starter()
        self._running: Any = None

    def submit(self, make: Callable[[], Any]) -> Any:
        """Run the coroutine that `make` returns on the loop, in a copy of this context, and return
        a future.

        Raises:
            HookError: in the thread of the loop, because the loop would have to wait for itself.
        """
        import asyncio

        loop = self._own()
        if asyncio._get_running_loop() is loop:
            raise HookError(
                "it is async, but another async receiver of a sync call made this sync call, so "
                "the event loop would have to wait for itself: write a plain def receiver"
            )
        if are_greenlets():
            return _Polled(loop, make)
        return asyncio.run_coroutine_threadsafe(make(), loop)

    def _own(self) -> Any:
        if self._starter is not thread_starter():  # gevent or eventlet has been loaded since
            self._lock = Lock()
            self.reset()
        with self._lock:
            if self._running is None:
                self._running = _begin_in_real_thread() if are_greenlets() else _begin_in_thread()
            return self._running


def _begin_in_thread() -> Any:
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        start_thread(loop.run_forever, f"hookbus: {PURPOSE}", PURPOSE)
    except BaseException:
        loop.close()
        raise
    return loop


def _begin_in_real_thread() -> Any:
    """Return an event loop in a real thread, because a loop in a greenlet would block all other
    greenlets.
    """
    import asyncio

    begun: list[Any] = []

    def run() -> None:
        try:
            begun.append(asyncio.new_event_loop())
        except BaseException as error:
            begun.append(error)
        else:
            begun[0].run_forever()

    start_real_thread(run)
    _wait_for(begun)
    if isinstance(begun[0], BaseException):
        raise begun[0]
    return begun[0]


class _Polled:
    """A future that a greenlet waits for, while another thread of the operating system computes the
    result. It polls, because the locks of gevent and eventlet are not safe across operating system
    threads.
    """

    def __init__(self, loop: Any, make: Callable[[], Any]) -> None:
        self._loop, self._task = loop, None
        self._answers: list[Any] = []
        loop.call_soon_threadsafe(self._begin, make, context=copy_context())

    def _begin(self, make: Callable[[], Any]) -> None:
        self._task = self._loop.create_task(self._keep(make()))

    async def _keep(self, coroutine: Any) -> None:
        self._answers.append(await coroutine)

    def result(self) -> Any:
        _wait_for(self._answers)
        return self._answers[0]

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())


def _wait_for(answers: list[Any]) -> None:
    pause = 0.0005
    while not answers:
        time.sleep(pause)  # the patched sleep lets other greenlets run
        pause = min(2 * pause, 0.01)


_loop: Final = Loop()
run_at_fork(after_in_child=_loop.reset)


def run_on_loop_thread(
    seat: Timed, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function, and await its answer on the shared event loop until the deadline, if there
    is one.
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
