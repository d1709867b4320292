"""Await receivers concurrently. The call continues when all of them have finished."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any

from .._callables.parameters import close_unawaited
from .._ground.errors import first_error
from .._ground.running_loop import running_asyncio
from ..events import Invoked
from ..exceptions import HookError
from .context import Call, ReadOnly
from .emitting import emit_invoked
from .meaning import check_untampered
from .outcome import is_cancelled_error, on_error_deferred
from .plan import Seat

_depth: ContextVar[int] = ContextVar("hookbus_depth", default=0)
"""The number of nested receiver tasks that contain the running code."""

Note = Callable[[float], None] | None
Pair = tuple[Any, BaseException | None]

Waiting = Sequence[tuple[Seat, Awaitable[Any], ReadOnly | None]]


async def gather_observers(
    call: Call, waiting: Waiting, take: Callable[[Call, Seat, Any], None],
    noted: BaseException | None, out: BaseException | None,
) -> BaseException | None:  # fmt: skip
    """Await all receivers. Then apply each answer and handle each failure in order. Return the most
    urgent exception. The caller raises it after all receivers have been called.
    """
    lasted: dict[Seat, float] | None = {} if Invoked in call.plan.listened_kinds else None
    notes = [_noting(seat, lasted) for seat, _, _ in waiting]
    answers, cancel = await all_of([awaitable for _, awaitable, _ in waiting], notes)
    out = first_error(cancel, out)
    for (seat, _, view), (value, error) in zip(waiting, answers):
        try:
            if error is not None:
                raise error
            if view is not None:
                check_untampered(seat, view)
            if value is not None:
                take(call, seat, value)
        except BaseException as failure:
            out = on_error_deferred(call, seat, failure, noted, out)
        finally:
            if lasted is not None:
                emit_invoked(call, seat, time.perf_counter() - lasted.get(seat, 0.0))
    try:
        return out
    finally:  # this frame is in the tracebacks: avoid a reference cycle
        value = error = None
        del answers, cancel, out, noted


def _noting(seat: Seat, lasted: dict[Seat, float] | None) -> Note:
    """Return a function that records the duration of a receiver, or None if the duration is not
    needed.
    """
    is_watched = seat.timeout is None and seat.receiver.watched
    if lasted is None:
        return seat.receiver.note_turn if is_watched else None

    def note(seconds: float) -> None:
        lasted[seat] = seconds
        if is_watched:
            seat.receiver.note_turn(seconds)

    return note


async def all_of(
    given: Iterable[Awaitable[Any]], notes: Iterable[Note] = ()
) -> tuple[list[Any], BaseException | None]:
    """Return the result of each awaitable as a pair of a value and an exception. Also return a
    cancellation that arrived in the meantime, or None. Each function in `notes` gets the duration
    of its awaitable.
    """
    awaitables = list(given)
    noted = list(zip_longest(awaitables, notes))
    asyncio = running_asyncio()
    if asyncio is None:  # e.g. under trio: await them one after the other
        return [await pair_of(*each) for each in noted], None
    depth = _depth.get() + 1
    if depth > sys.getrecursionlimit():  # Python's recursion limit does not apply across tasks
        for awaitable in awaitables:
            close_unawaited(awaitable)
        endless = "it calls the hook that calls it, endlessly; stop the recursion with a condition"
        return [(None, HookError(endless)) for _ in awaitables], None
    token = None
    try:
        token = _depth.set(depth)
        tasks = [asyncio.create_task(pair_of(*each)) for each in noted]
    finally:
        if token is not None:  # an interrupt may have arrived before this
            _depth.reset(token)
    cancel = None
    try:
        await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError as came:
        cancel = came
    brought = []
    for task, each in zip(tasks, noted):
        # Every receiver is called, even if its task is cancelled before it starts.
        value, error = await pair_of(*each) if task.cancelled() else task.result()
        brought.append((value, None if cancel is not None and is_cancelled_error(error) else error))
    return brought, cancel


async def pair_of(awaitable: Awaitable[Any], note: Note = None) -> Pair:
    """Return the result of an awaitable as a pair of a value and an exception."""
    began = time.perf_counter() if note is not None else 0.0
    # An interrupt must not end the loop while other tasks are running.
    try:
        return await awaitable, None
    except BaseException as error:
        return None, error
    finally:
        if note is not None:
            note(time.perf_counter() - began)
