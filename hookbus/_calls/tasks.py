"""Awaited receivers side by side: all have ended before the call goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any

from .._connections.wanted import close_unawaited
from .._loops import running_asyncio
from ..events import Invoked
from ..exceptions import HookError, first_error
from .context import Call, ReadOnly
from .meaning import check_untampered
from .outcome import deferred, is_cancelled_error
from .plan import Seat
from .telling import tell_turn

_depth: ContextVar[int] = ContextVar("hookbus_depth", default=0)
"""How many tasks of receivers are around the running code, one in the other."""

Note = Callable[[float], None] | None
Pair = tuple[Any, BaseException | None]

Waiting = Sequence[tuple[Seat, Awaitable[Any], ReadOnly | None]]


async def beside(
    call: Call, waiting: Waiting, take: Callable[[Call, Seat, Any], None],
    noted: BaseException | None, out: BaseException | None,
) -> BaseException | None:  # fmt: skip
    """Await all of them; then each answer is taken and each failure is its receiver's, in order.

    Return what goes out now that all have had their turn: the worst of what must.
    """
    lasted: dict[Seat, float] | None = {} if Invoked in call.plan.heard else None
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
            out = deferred(call, seat, failure, noted, out)
        finally:
            if lasted is not None:
                tell_turn(call, seat, time.perf_counter() - lasted.get(seat, 0.0))
    try:
        return out
    finally:  # this frame is in the tracebacks of what was raised: no circle
        value = error = None
        del answers, cancel, out, noted


def _noting(seat: Seat, lasted: dict[Seat, float] | None) -> Note:
    """Return what notes how many seconds a turn took, where somebody wants to know."""
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
    """Return what each brought, a pair of a value and an exception, and the cancellation that came
    meanwhile. To those that have a note, in their order, it is told how many seconds they took.
    """
    awaitables = list(given)
    noted = list(zip_longest(awaitables, notes))
    asyncio = running_asyncio()
    if asyncio is None:  # under trio, for instance: there they are awaited one after the other
        return [await pair_of(*each) for each in noted], None
    depth = _depth.get() + 1
    if depth > sys.getrecursionlimit():  # Python's own limit does not see from task to task
        for awaitable in awaitables:
            close_unawaited(awaitable)
        endless = "it calls in its own turn what asks it again, without end; end it by a condition"
        return [(None, HookError(endless)) for _ in awaitables], None
    token = None
    try:
        token = _depth.set(depth)
        tasks = [asyncio.create_task(pair_of(*each)) for each in noted]
    finally:
        if token is not None:  # an interrupt may have come before that
            _depth.reset(token)
    cancel = None
    try:
        await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError as came:
        cancel = came
    brought = []
    for task, each in zip(tasks, noted):
        # One that was cancelled before it had begun begins: each has its turn.
        value, error = await pair_of(*each) if task.cancelled() else task.result()
        brought.append((value, None if cancel is not None and is_cancelled_error(error) else error))
    return brought, cancel


async def pair_of(awaitable: Awaitable[Any], note: Note = None) -> Pair:
    """Return what an awaitable brings: a value, or an exception in its place."""
    began = time.perf_counter() if note is not None else 0.0
    # An interrupt must not end the loop while others are under way.
    try:
        return await awaitable, None
    except BaseException as error:
        return None, error
    finally:
        if note is not None:
            note(time.perf_counter() - began)
