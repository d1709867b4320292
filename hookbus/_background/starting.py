"""Start background observers. Calls do not wait for these observers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .._callables.parameters import is_awaitable
from .._calls.context import Call, ReadOnly
from .._calls.emitting import emit_failed, enclosing
from .._calls.meaning import await_if_needed, check_observer_answer, check_untampered
from .._calls.plan import Seat
from .._ground.errors import is_a
from .._ground.running_loop import running_asyncio
from .._waiting.deadline import late, within
from .._waiting.workers import background
from ..exceptions import HookError
from .running import BackgroundTasks, belong_to


class Background(BackgroundTasks):
    """The background observers of a bus."""

    def __init__(self, bus: Any) -> None:
        super().__init__(bus._max_background)

    def start(
        self, call: Call, seat: Seat, view: ReadOnly | None, function: Callable[..., Any], /,
        *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Start an observer. An async observer runs in a task, any other observer in a worker
        thread.

        Raises:
            HookError: if too many observers are running, in which case this observer is dropped.
                The error is also raised if the observer is async but no asyncio event loop is
                running.
        """
        if not call.inside:  # the call may have ended when the event is emitted
            call.parent_id = enclosing()
        run, asked = Run(self, call, seat, view), partial(function, *args, **kwargs)
        asyncio = running_asyncio() if call.plan.hook.is_async else None
        loop = None if asyncio is None else asyncio.get_running_loop()
        try:
            self.admit(run)
            if not seat.receiver.is_async:
                background.submit(run.work, (asked, loop), {})
            elif loop is not None:
                run.await_it(asked, loop)
            else:
                raise HookError(
                    "it is an async background observer, which needs a running asyncio event loop "
                    "where its hook is awaited"
                )
        except BaseException:
            self.release(run)
            raise


class Run:
    """One run of a background observer. The run keeps the receiver and the arguments alive."""

    loop: Any = None
    task: Any = None

    def __init__(
        self, runs: Background, call: Call, seat: Seat, view: ReadOnly | None
    ) -> None:
        self.runs, self.call, self.seat, self.view = runs, call, seat, view

    @property
    def label(self) -> str:
        return self.seat.receiver.label

    def work(self, asked: Callable[[], Any], loop: Any) -> None:
        """Call the observer in this thread. If the result is awaitable and the hook has an event
        loop, await the result on the loop.
        """
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
        """Start a task that calls the observer and awaits its result."""
        # The event loop itself keeps only weak references to its tasks.
        self.loop, self.task = loop, loop.create_task(self._awaited(asked))
        self.task.add_done_callback(self._done)

    async def _awaited(self, asked: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        belong_to(self)
        try:
            answer = await_if_needed(asked())
            return await (answer if self.seat.timeout is None else within(self.seat, answer)), None
        except SystemExit as error:  # an interrupt raised in a task would end the loop
            return None, error

    def _done(self, task: Any) -> None:
        if task.cancelled():
            self.ended(None, sys.modules["asyncio"].CancelledError())
        else:
            error = task.exception()
            self.ended(*(task.result() if error is None else (None, error)))

    def ended(self, answer: Any, error: BaseException | None) -> None:
        """Emit a failure if the observer failed, and stop counting the run."""
        call, seat = self.call, self.seat
        failure = self._misuse(answer) if error is None else error
        # A Ctrl-C must end the loop, regardless of the code that it interrupts.
        goes_out = self.task is not None and is_a(failure, KeyboardInterrupt)
        try:
            if failure is not None:
                emit_failed(call, seat, failure, "raised" if goes_out else "isolated")
        finally:
            self.task = None
            self.runs.release(self)

    def _misuse(self, answer: Any) -> Exception | None:
        """Return the problem with the observer's answer or with its writes to read-only arguments,
        or None.
        """
        try:
            if self.view is not None:
                check_untampered(self.seat, self.view)
            if answer is not None:
                check_observer_answer(self.call, self.seat, answer)
        except Exception as misuse:
            return misuse
        return None
