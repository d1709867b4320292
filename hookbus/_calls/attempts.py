"""Handle rare cases of arounds: attempts that patch, repeat or come late, and changes to the
result.

Each level of arounds has a mark. The mark is 0 before `call_next` is called. It is `BEGUN` while
the inner code runs, or after the inner code raised. Otherwise, the mark says how the inner code
ended. `ENDED` is added when the around has ended.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, Generator
from typing import Any, Final, NoReturn

from .._callables.parameters import is_awaitable
from .._ground.errors import article, late_call_next, name_of_class
from ..events import Attempted
from ..exceptions import CallPaused, HookError
from .context import Call
from .emitting import emit, emit_change
from .meaning import value_of_answer
from .outcome import outcome_of, raise_block
from .plan import Seat

BEGUN: Final = 1
RETURNED: Final = 2
REPLACED: Final = 3
ENDED: Final = 8

MARKS: Final = {
    "begun": BEGUN, "returned": RETURNED, "replaced_mark": REPLACED, "ended": ENDED,
    "returned_ended": RETURNED + ENDED,
}  # fmt: skip
"""The names of the marks in the templates."""


def check_open(call: Call, is_late: bool) -> None:
    """Raise an exception for an attempt after the end of the call or of an outer around."""
    if call.blocked is not None:
        raise_block(call)
    if call.paused is not None:
        raise call.paused
    if call.is_over or is_late:
        raise late_call_next()


def pause(call: Call, error: BaseException) -> CallPaused:
    """Return the exception that arounds get when the method hands control back to its framework
    with an exception.
    """
    call.inner = paused = CallPaused(error)
    call.paused = call.paused or paused
    return paused


def end_pause(call: Call) -> NoReturn:
    """Raise the exception with which the method handed control back, exactly as the undecorated
    method would raise it.
    """
    error: BaseException = call.paused.error  # type: ignore[union-attr]
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context
        del error, context


def apply_around_answer(call: Call, seat: Seat, answer: Any, mark: int, last: Any) -> Any:
    """Return the result that an around's answer represents. Emit a change if the result differs
    from the inner result.
    """
    has_run = mark in (RETURNED, REPLACED)
    if call.blocked is not None:
        raise_block(call)
    value = value_of_answer(call, seat, answer)
    if value is None and has_run and last is not None and not call.plan.hook.is_stream:
        seat.receiver.lost_results += 1
    if not has_run or value is not last:
        emit_change(call, seat, "result", last if has_run else None, value)
    return value


def record_attempt(call: Call, depth: int, mark: int, began: float) -> None:
    """Record how an attempt ended, for the event `Attempted`."""
    outcome = "returned" if mark == RETURNED else "replaced"
    # If the attempt returned, a currently handled exception belongs to the caller.
    if mark not in (RETURNED, REPLACED) and (error := sys.exc_info()[1]) is not None:
        outcome = outcome_of(call, error)
    call.tries.setdefault(depth, []).append((outcome, time.perf_counter() - began, time.time()))


def emit_attempts(call: Call, seat: Seat, depth: int) -> None:
    """Emit the attempts of an around if the around made several attempts."""
    tries = call.tries.pop(depth, ())
    if len(tries) > 1:
        for number, (outcome, seconds, ended) in enumerate(tries, 1):
            emit(
                call, Attempted, at=ended, receiver=seat.receiver.name, number=number,
                outcome=outcome, seconds=seconds,
            )  # fmt: skip


# -- streams ---------------------------------------------------------------------------------------


def opened(call: Call, seat: Seat, source: Any) -> Any:
    """Return the generator that an around of a stream returned. Raise HookError if the object is
    not a generator.
    """
    needed = "asend" if call.plan.hook.is_async else "send"
    if hasattr(type(source), needed) and not is_awaitable(source):
        return source
    value_of_answer(call, seat, source)
    raise HookError(
        f"{seat.receiver.label} returned {article(name_of_class(type(source)))}; an around of a "
        f"stream must yield items: write {article(call.plan.hook.kind)} function"
    )


def recorded(call_next: Any, opened: list[Any]) -> Any:
    """Return a `call_next` that records each stream that it opens. The streams that an around
    abandons are closed when the around ends.
    """

    def recorded_call_next(**patch: Any) -> Any:
        source = call_next(**patch)
        opened.append(source)
        return source

    recorded_call_next.__wrapped__ = call_next  # type: ignore[attr-defined]  # shows its kind
    return recorded_call_next


def closed(call: Call, opened: list[Any]) -> None:
    """Close the streams that an around opened and abandoned, unless they are still running."""
    inner = call.inner
    for source in opened:
        if not source.gi_running:
            source.close()
    call.inner = inner


async def closed_async(call: Call, opened: list[Any]) -> None:
    """Close the streams that an around opened and abandoned, unless they are still running."""
    inner = call.inner
    for source in opened:
        if not source.ag_running:
            await source.aclose()
    call.inner = inner


def as_items(items: Any, *, is_async: bool, whole: Any = None) -> Any:
    """Return an object that yields items through `send`, `throw` and `close`. If the stream has a
    type for the whole result, a result of this type becomes the only item.
    """
    if whole is not None:
        items = items, whole(items)
    if hasattr(type(items), "asend" if is_async else "send"):
        return items
    return _each_async(items) if is_async else _each(items)


def _each(items: Any) -> Generator[Any, Any, None]:
    for item in items:  # noqa: UP028 - an iterator does not accept sent values
        yield item


async def _each_async(items: Any) -> AsyncGenerator[Any, Any]:
    if hasattr(type(items), "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
