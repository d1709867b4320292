"""Splits calls in two halves, for frameworks that run one callback before a tool and one after
it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from hookbus import HookError

from ._tools import Gate, ToolCall

MOST: Final = 1000
LONGEST: Final = 86_400.0

_log = logging.getLogger("hookbus")


class Go(NamedTuple):
    """The tool may run.

    Attributes:
        arguments: the arguments for the tool, including changes by receivers.
    """

    arguments: dict[str, Any]


class Instead(NamedTuple):
    """The tool must not run.

    Attributes:
        value: the answer for the framework: a denial, or the result that replaces the call.
    """

    value: Any


class Halves:
    """The calls that have begun and not yet returned. Each hooked call runs in its own task, which
    waits where the tool would run. An `around` receiver therefore cannot run the tool twice.

    Args:
        gate: the gate that runs the hooks of the calls.
        most: the maximum number of open calls; beginning another call ends the oldest open call.
        longest: the number of seconds that a call may be open before it is ended.
    """

    def __init__(self, gate: Gate, *, most: int = MOST, longest: float = LONGEST) -> None:
        self._gate, self._most, self._longest = gate, most, longest
        self._open: dict[Hashable, _Half] = {}

    async def begin(self, key: Hashable, call: ToolCall) -> Go | Instead:
        """Run the hooked call up to the point where its tool would run.

        Args:
            key: the framework's identifier of the call, the same before and after the tool. An
                earlier call that is still open under this key is ended.
            call: the call.

        Raises:
            Exception: any exception that an `around` receiver or the gate raises; the tool must not
                run.
        """
        if key in self._open:
            self._give_up(key, "another call began under the same key")
        if len(self._open) >= self._most:
            self._give_up(next(iter(self._open)), f"{self._most} calls are open")
        half = self._open[key] = _Half(self._gate, call)
        half.task.add_done_callback(partial(self._ended, key, half))
        half.timer = half.loop.call_later(self._longest, self._expire, key, half)
        try:
            await half.until(half.entered)
        except asyncio.CancelledError:
            self._forget(key, half)
            raise
        if not half.task.done():
            return Go(half.entered.result())
        self._forget(key, half)
        return Instead(half.outcome())

    async def end(self, key: Hashable, raw: Any) -> Any:
        """Pass the result of a tool to its hooked call, and return the result for the framework. It
        is the same object if no receiver changed it.

        Args:
            key: as in `begin`.
            raw: the result.

        Raises:
            HookError: if no call is open under the key. No guard has checked the result, so the
                caller must not use it.
            Exception: any exception that the hooked call raises.
        """
        half = self._take(key)
        if not half.back.done():
            half.back.set_result(raw)
        await half.until()
        return half.outcome()

    async def fail(self, key: Hashable, error: Exception) -> Any:
        """Pass the exception of a tool to its hooked call, and return the result with which a
        receiver replaced it.

        Args:
            key: as in `begin`.
            error: the exception.

        Raises:
            HookError: if no call is open under the key.
            Exception: the same exception if no receiver handled it, or the exception that a
                receiver raised.
        """
        half = self._take(key)
        if not half.back.done():
            half.back.set_exception(error)
        await half.until()
        return half.outcome()

    async def close(self) -> None:
        """Cancel all calls in the running event loop that have not returned."""
        loop = asyncio.get_running_loop()
        left = [(key, half) for key, half in self._open.items() if half.loop is loop]
        for key, half in left:
            self._forget(key, half)
            half.task.cancel()
        if left:
            await asyncio.wait({half.task for _, half in left})

    def _take(self, key: Hashable) -> _Half:
        half = self._open.get(key)
        if half is None:
            raise HookError(
                f"no call is open under {key!r:.80}: it never began, or was ended before it "
                "returned"
            )
        self._forget(key, half)
        return half

    def _expire(self, key: Hashable, half: _Half) -> None:
        if self._open.get(key) is half:
            self._give_up(key, f"it took longer than {self._longest:g} s")

    def _give_up(self, key: Hashable, why: str) -> None:
        half = self._open[key]
        self._forget(key, half)
        _log.warning("a call of %s that never returned was ended: %s", half.call.name, why)
        with suppress(RuntimeError):  # its loop is closed, and has cancelled it
            half.loop.call_soon_threadsafe(half.task.cancel)

    def _ended(self, key: Hashable, half: _Half, task: asyncio.Task[Any]) -> None:
        if task.cancelled():  # otherwise the outcome must still be read
            self._forget(key, half)

    def _forget(self, key: Hashable, half: _Half) -> None:
        if half.timer is not None:
            half.timer.cancel()
        if self._open.get(key) is half:
            del self._open[key]


class _Half:
    """A call that has begun.

    Attributes:
        entered: the arguments, once the tool may run.
        back: the outcome reported by the framework.
    """

    timer: asyncio.TimerHandle | None = None

    def __init__(self, gate: Gate, call: ToolCall) -> None:
        self.loop, self.call = asyncio.get_running_loop(), call
        self.entered: asyncio.Future[dict[str, Any]] = self.loop.create_future()
        self.back: asyncio.Future[Any] = self.loop.create_future()
        self.task = self.loop.create_task(gate.run_async(call, self._body))

    async def _body(self, arguments: dict[str, Any]) -> Any:
        if self.entered.done():
            raise HookError(
                f"{self.call.name} runs only once, between two callbacks of its framework: an "
                "around of tool_call cannot run it again"
            )
        self.entered.set_result(arguments)
        return await self.back

    async def until(self, *others: asyncio.Future[Any]) -> None:
        """Wait until the hooked call has ended or one of the other futures is done. If the waiting
        task is cancelled, cancel the hooked call too.
        """
        waited: set[asyncio.Future[Any]] = {self.task, *others}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            await asyncio.wait({self.task})
            raise

    def outcome(self) -> Any:
        """Return the result of the ended call, or raise its exception."""
        if self.task.cancelled():  # the call, not the waiting task
            raise HookError(f"the call of {self.call.name} was ended before it returned")
        return self.task.result()
