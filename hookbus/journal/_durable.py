"""Durable hooks. Their methods start only after the intent of the call is on disk."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any, Final

from .. import Block, Bus, HookBlocked, HookContext, HookError
from .._ground.errors import call_id_of, is_a, note
from .._ground.plain import name_of_type, place_of_raise
from ..events import HIDDEN, Started
from ..exceptions import CallPaused
from ._chain import Row, row_of
from ._queue import Waiting
from ._writer import Writer

_OF_INTENT: Final = ("arguments", "values")


class Durable:
    """The `around` receiver that makes sync, async and streaming hooks durable."""

    __hookbus_live__ = True  # it passes on each item of a stream as it arrives

    def __init__(self, writer: Writer, bus: Bus) -> None:
        self._writer, self._bus = writer, bus

    def __call__(self, sender: Any, call_next: Any, ctx: HookContext) -> Any:
        flags = inspect.unwrap(call_next).__code__.co_flags
        attempt = Attempt(self._writer, self._bus, ctx)
        if flags & inspect.CO_COROUTINE:
            return _awaited(attempt, call_next)
        if flags & inspect.CO_ASYNC_GENERATOR:
            return _opened(attempt, call_next)
        blocked = attempt.begin()
        if blocked is not None:
            return blocked
        if flags & inspect.CO_GENERATOR:
            return _stream(attempt, call_next)
        return _plain(attempt, call_next)


class Attempt:
    """One attempt at a call, with its intent and its outcome."""

    def __init__(self, writer: Writer, bus: Bus, ctx: HookContext) -> None:
        self._writer, self._bus, self._ctx = writer, bus, ctx
        state: dict[Any, Any] = ctx.state  # of this call; each journal counts separately
        self._number = state[writer] = state.get(writer, 0) + 1
        self._intent: Waiting | None = None
        self._known: dict[str, Any] = {}

    def begin(self) -> Block | None:
        """Write the intent to disk. If writing fails, return a `Block` for the call."""
        try:
            self._writer.settle(self._intend())
        except HookError as error:
            return self._refused(error)
        except BaseException as error:
            self._leave(error)
            raise
        return None

    async def begin_async(self) -> Block | None:
        """Like `begin`, without blocking the event loop."""
        try:
            await self._writer.settle_async(self._intend())
        except HookError as error:
            return self._refused(error)
        except BaseException as error:
            self._leave(error)
            raise
        return None

    def end(self, error: BaseException | None = None) -> None:
        """Write the outcome to disk.

        Raises:
            HookError: if writing fails after the method has returned.
        """
        if error is not None and not isinstance(error, (Exception, CallPaused)):
            self._leave(error)
            return
        try:
            self._writer.settle(self._writer.add(self._outcome(error), is_full=False))
        except HookError as wrong:
            self._unwritten(error, wrong)

    async def end_async(self, error: BaseException | None = None) -> None:
        """Like `end`, without blocking the event loop."""
        if error is not None and not isinstance(error, (Exception, CallPaused)):
            self._leave(error)
            return
        try:
            await self._writer.settle_async(self._writer.add(self._outcome(error), is_full=False))
        except HookError as wrong:
            self._unwritten(error, wrong)

    def _intend(self) -> Waiting:
        fields = self._described()
        self._known = {name: fields[name] for name in fields if name not in _OF_INTENT}
        row = self._row("Intent", **{name: fields[name] for name in _OF_INTENT if name in fields})
        self._began = time.perf_counter()
        self._intent = self._writer.add(row, is_full=True)
        return self._intent

    def _refused(self, error: HookError) -> Block:
        if self._intent is not None:
            self._intent.is_withdrawn = True
        return Block(f"the call cannot be recorded: {error}", code="journal")

    def _leave(self, error: BaseException) -> None:
        """Let another thread write the outcome, so that the cancellation or interrupt does not
        wait.
        """
        if self._intent is not None:
            self._intent.is_withdrawn = True  # if it is not written yet
            self._writer.post(self._outcome(error), self._intent)

    def _unwritten(self, error: BaseException | None, wrong: HookError) -> None:
        message = f"its outcome could not be recorded: {wrong}"
        if error is None:
            raise HookError(f"{self._ctx.hook} ran, but {message}") from None
        of = error.error if is_a(error, CallPaused) else error
        note(of, f"{self._ctx.hook} raised this, and {message}")

    def _outcome(self, error: BaseException | None) -> Row:
        outcome = "returned"
        if error is not None:
            is_own_block = is_a(error, HookBlocked) and call_id_of(error) == self._ctx.call_id
            outcome = "blocked" if is_own_block else "raised"
            if not is_a(error, Exception):
                outcome = "paused" if is_a(error, CallPaused) else "cancelled"
        seconds = time.perf_counter() - self._began
        error_fields = None if error is None or outcome == "paused" else {
            "type": name_of_type(type(error)), "place": place_of_raise(error)
        }  # fmt: skip
        return self._row("Outcome", outcome=outcome, seconds=seconds, error=error_fields)

    def _row(self, kind: str, **facts: Any) -> Row:
        about = {"event": kind, "at": time.time(), "attempt": self._number}
        return row_of(self._known | about | facts)

    def _described(self) -> dict[str, Any]:
        """Return the common fields of the records. The arguments are reported as in the events of
        the bus."""
        ctx = self._ctx
        known: dict[str, Any] = {
            "call_id": ctx.call_id, "parent_id": None, "hook": ctx.hook, "at": time.time()
        }  # fmt: skip
        known["arguments"] = tuple(ctx.kwargs)
        values = dict(ctx.kwargs) if self._bus.values else HIDDEN
        event = Started(
            sender=ctx.description, baggage=ctx.baggage, values=values, **known
        )
        redacted_event = self._bus.events.redacted(event)
        if redacted_event is None:  # redaction failed: leave out what may contain a secret
            redacted_event = Started(sender="unknown", baggage={}, **known)
        return redacted_event.as_dict()


def _plain(attempt: Attempt, call_next: Any) -> Any:
    try:
        result = call_next()
    except BaseException as error:
        attempt.end(error)
        raise
    attempt.end()
    return result


async def _awaited(attempt: Attempt, call_next: Any) -> Any:
    blocked = await attempt.begin_async()
    if blocked is not None:
        return blocked
    try:
        result = await call_next()
    except BaseException as error:
        await attempt.end_async(error)
        raise
    await attempt.end_async()
    return result


def _stream(attempt: Attempt, call_next: Any) -> Generator[Any, Any, Any]:
    try:
        result = yield from call_next()
    except BaseException as error:
        attempt.end(error)
        raise
    attempt.end()
    return result


async def _opened(attempt: Attempt, call_next: Any) -> Any:
    return await attempt.begin_async() or _stream_async(attempt, call_next)


async def _stream_async(attempt: Attempt, call_next: Any) -> AsyncGenerator[Any, Any]:
    try:
        async with aclosing(call_next()) as source:
            advance, value = source.asend, None
            while True:
                try:
                    item = await advance(value)
                except StopAsyncIteration:
                    break
                try:
                    value = yield item
                    advance = source.asend
                except GeneratorExit:
                    raise
                except BaseException as thrown:
                    advance, value = source.athrow, thrown
    except BaseException as error:
        await attempt.end_async(error)
        raise
    await attempt.end_async()
