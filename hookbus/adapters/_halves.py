"""One call in two halves, for frameworks that have a callback before a tool and one after it."""

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
        arguments: as they have become.
    """

    arguments: dict[str, Any]


class Instead(NamedTuple):
    """The tool must not run.

    Attributes:
        value: what the framework gets instead: the text of a block, or the replaced result.
    """

    value: Any


class Halves:
    """The calls that have begun and are not back yet. Each is one hooked call, in a task of its own
    that waits where the tool would run; so an `around` cannot run the tool twice here.

    Args:
        gate: the place that the calls come through.
        most: how many may be open at once; one more ends the oldest.
        longest: seconds that one may be open before it is ended.
    """

    def __init__(self, gate: Gate, *, most: int = MOST, longest: float = LONGEST) -> None:
        self._gate, self._most, self._longest = gate, most, longest
        self._open: dict[Hashable, _Half] = {}

    async def begin(self, key: Hashable, call: ToolCall) -> Go | Instead:
        """Run the hooked call up to where its tool would run.

        Args:
            key: what the framework names the call by, before and after. A call that is open under
                it never came back, and is ended.
            call: the call.

        Raises:
            Exception: what an `around` or the gate's refusal raised; the tool must not run.
        """
        if key in self._open:
            self._give_up(key, "another one began under its key")
        if len(self._open) >= self._most:
            self._give_up(next(iter(self._open)), f"{self._most} are open")
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
        """Give a call the result of its tool, and return the result for the framework: the same
        object if no receiver changed it.

        Raises:
            HookError: if no call is open under the key: no receiver has checked the result, so it
                must not be delivered.
            Exception: what came out of the hooked call.
        """
        half = self._take(key)
        if not half.back.done():
            half.back.set_result(raw)
        await half.until()
        return half.outcome()

    async def fail(self, key: Hashable, error: Exception) -> Any:
        """Give a call the exception that its tool raised, and return what the framework gets
        instead.

        Raises:
            HookError: if no call is open under the key.
            Exception: the same one if no receiver replaced it.
        """
        half = self._take(key)
        if not half.back.done():
            half.back.set_exception(error)
        await half.until()
        return half.outcome()

    async def close(self) -> None:
        """End the calls of the running loop that have not come back: each was cancelled."""
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
                f"no call is open under {key!r:.80}: it has not begun, or has ended already"
            )
        self._forget(key, half)
        return half

    def _expire(self, key: Hashable, half: _Half) -> None:
        if self._open.get(key) is half:
            self._give_up(key, f"{self._longest:g} s are over")

    def _give_up(self, key: Hashable, why: str) -> None:
        half = self._open[key]
        self._forget(key, half)
        _log.warning("ended a call of %s that had no outcome: %s", half.call.name, why)
        with suppress(RuntimeError):  # its loop is closed, and has cancelled it
            half.loop.call_soon_threadsafe(half.task.cancel)

    def _ended(self, key: Hashable, half: _Half, task: asyncio.Task[Any]) -> None:
        if task.cancelled():  # one that has an outcome still has to be asked for it
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
        back: what the framework gives of its end.
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
                f"{self.call.name} runs between two callbacks of its framework, once: an around "
                "of tool_call cannot run it again"
            )
        self.entered.set_result(arguments)
        return await self.back

    async def until(self, *others: asyncio.Future[Any]) -> None:
        """Wait until the call has ended, or one of the others is there; who is cancelled meanwhile
        cancels the call.
        """
        waited: set[asyncio.Future[Any]] = {self.task, *others}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            await asyncio.wait({self.task})
            raise

    def outcome(self) -> Any:
        """Return what came out of the ended call, or raise it."""
        if self.task.cancelled():  # not who waits for it
            raise HookError(f"the call of {self.call.name} was ended before its tool returned")
        return self.task.result()
