"""Apply deadlines to receivers: await them with a time limit, or run them in a daemon thread that
can be abandoned.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import Any, Final, Protocol

from .._ground.running_loop import running_asyncio
from ..exceptions import HookError
from .real_threads import are_greenlets
from .workers import workers

__tracebackhide__: Final = True
_MISSING: Final = object()


class Timed(Protocol):
    """An object that may have a deadline: a receiver in the plan of a call."""

    @property
    def timeout(self) -> float | None: ...

    @property
    def signal(self) -> Any: ...


def timed(seat: Timed, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function in a worker thread, in a copy of the caller's context, and wait until the
    deadline. Context variables that the function sets are copied back.
    """
    before = copy_context()
    end = time.monotonic() + (seat.timeout or 0.0)
    job, context = workers.submit(function, args, kwargs)
    try:
        value, error = job.result(seat.timeout)
        if are_greenlets() and time.monotonic() > end:  # it blocked this greenlet, too
            raise TimeoutError
    except TimeoutError:
        raise late(seat) from None
    finally:
        workers.abandon(job, seat.signal._bus)
    _bring_back(before, context)
    if error is not None:
        try:
            raise error
        finally:
            del error, job
    return value


async def timed_async(
    seat: Timed, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function in a worker thread, so that it cannot block the event loop, and await its
    result. The deadline applies to the call and to the result together.
    """
    asyncio, seconds = _asyncio(), seat.timeout or 0.0
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    before = copy_context()
    job, context = workers.submit(function, args, kwargs)
    waiter = asyncio.wrap_future(job)
    try:
        await asyncio.wait({waiter}, timeout=seconds)
        if not waiter.done():
            raise late(seat)
        value, error = waiter.result()
    finally:
        workers.abandon(job, seat.signal._bus)
        waiter.cancel()
    _bring_back(before, context)
    if error is not None:
        try:
            raise error
        finally:
            del error, job, waiter
    return await within(seat, value, end) if hasattr(type(value), "__await__") else value


async def within(seat: Timed, awaitable: Awaitable[Any], end: float | None = None) -> Any:
    """Await an awaitable until the deadline. Code that blocks the event loop cannot be interrupted,
    but its answer is rejected as late.
    """
    try:
        asyncio = _asyncio()
        loop = asyncio.get_running_loop()
    except BaseException:
        awaitable.close()  # type: ignore[attr-defined]
        raise
    limit = asyncio.timeout_at(loop.time() + seat.timeout if end is None else end)
    try:
        async with limit:
            value = await awaitable
    except TimeoutError:
        if limit.expired():
            raise late(seat) from None
        raise
    if limit.when() <= loop.time():
        raise late(seat)
    return value


def late(seat: Timed) -> TimeoutError:
    error = TimeoutError(f"did not answer within {seat.timeout:g} seconds")
    error.failure = "late"  # type: ignore[attr-defined]
    return error


def _asyncio() -> Any:
    asyncio = running_asyncio()
    if asyncio is None:
        raise HookError(
            "it has a deadline, which needs a running asyncio event loop "
            "where its hook is awaited"
        )
    return asyncio


def _bring_back(before: Context, context: Context) -> None:
    """Copy the context variables that the worker set into this context. Other variables stay,
    because other code may have changed them in the meantime.
    """
    for variable, value in context.items():
        if before.get(variable, _MISSING) is not value:
            variable.set(value)
