"""Observers in the background: started with what they asked for, and awaited by nobody."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .._connections.wanted import is_awaitable
from .._loops import running_asyncio
from .._under_way import belong_to
from ..exceptions import HookError, is_a
from .context import Call, ReadOnly
from .deadline import late, within
from .meaning import check_untampered, decided, resolved
from .plan import Seat
from .telling import enclosing, tell_failed
from .workers import background


def start(
    call: Call, seat: Seat, view: ReadOnly | None, function: Callable[..., Any], /,
    *args: Any, **kwargs: Any,
) -> None:  # fmt: skip
    """Start an observer, in a task where it is async and else in a worker thread.

    Raises:
        HookError: when too many are under way: it is dropped; or for an async one where asyncio
            does not run.
    """
    if not call.inside:  # as it will be told by then
        call.parent_id = enclosing()
    run, asked = Run(call, seat, view), partial(function, *args, **kwargs)
    asyncio = running_asyncio() if call.plan.hook.is_async else None
    loop = None if asyncio is None else asyncio.get_running_loop()
    under_way = seat.signal._home._under_way
    try:
        under_way.admit(run)
        if not seat.receiver.is_async:
            background.submit(run.work, (asked, loop), {})
        elif loop is not None:
            run.await_it(asked, loop)
        else:
            raise HookError(
                "it runs in the background, which needs the event loop of asyncio where what it "
                "hooks is awaited"
            )
    except BaseException:
        under_way.release(run)
        raise


class Run:
    """One turn in the background; it keeps its receiver and what that asked for alive."""

    loop: Any = None
    task: Any = None

    def __init__(self, call: Call, seat: Seat, view: ReadOnly | None) -> None:
        self.call, self.seat, self.view = call, seat, view

    @property
    def label(self) -> str:
        return self.seat.receiver.label

    def work(self, asked: Callable[[], Any], loop: Any) -> None:
        """Call it in this thread; what it returns is awaited on the loop where that can be."""
        belong_to(self)
        end, seconds = time.monotonic(), self.seat.timeout
        try:
            answer = asked()
            if loop is not None and is_awaitable(answer):
                self.loop = loop
                loop.call_soon_threadsafe(self.await_it, lambda: answer, loop)
                return
            if seconds is not None and time.monotonic() - end > seconds:
                raise late(self.seat)
        except BaseException as error:
            self.ended(None, error)
        else:
            self.ended(answer, None)

    def await_it(self, asked: Callable[[], Any], loop: Any) -> None:
        """Have a task call it and await what it returns."""
        # The loop itself holds its tasks weakly.
        self.loop, self.task = loop, loop.create_task(self._awaited(asked))
        self.task.add_done_callback(self._done)

    async def _awaited(self, asked: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        belong_to(self)
        try:
            answer = resolved(asked())
            return await (answer if self.seat.timeout is None else within(self.seat, answer)), None
        except SystemExit as error:  # out of a task it would end the loop
            return None, error

    def _done(self, task: Any) -> None:
        if task.cancelled():
            self.ended(None, sys.modules["asyncio"].CancelledError())
        else:
            error = task.exception()
            self.ended(*(task.result() if error is None else (None, error)))

    def ended(self, answer: Any, error: BaseException | None) -> None:
        """Tell how it failed, if it did, and that it is no longer under way."""
        call, seat = self.call, self.seat
        failure = self._misuse(answer) if error is None else error
        # A Ctrl-C goes out of the loop whatever it hits.
        goes_out = self.task is not None and is_a(failure, KeyboardInterrupt)
        try:
            if failure is not None:
                tell_failed(call, seat, failure, "raised" if goes_out else "isolated")
        finally:
            self.task = None
            seat.signal._home._under_way.release(self)

    def _misuse(self, answer: Any) -> Exception | None:
        """Return what is wrong with an answer, or with what was written meanwhile."""
        try:
            if self.view is not None:
                check_untampered(self.seat, self.view)
            if answer is not None:
                decided(self.call, self.seat, answer)
        except Exception as misuse:
            return misuse
        return None
