"""How one turn is taken: in line or in a worker thread, awaited or not, with or without a deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any, Literal

import attrs

from .._connections.wanted import close_unawaited
from ..exceptions import HookError
from .cancels import Cancels, is_cancelled_error
from .context import CURRENT, Frame
from .tasks import begin, settle
from .workers import Deadline, Host, Pair, workers


@attrs.define(eq=False)
class Turn:
    """One call to make.

    Attributes:
        call: makes the answer, or an awaitable of it.
        kind: `answer` of a receiver, `body`, `open` (make a generator) or `step` (advance one).
        deadline: how long it may take, if there is a limit.
        frame: the live call it is part of, where anything wants to know.
        is_async: whether `call` is known to return an awaitable at once, so that it cannot block the loop.
        is_receiver: whether a receiver's code runs, not the method's own.
        settles: whether a cancellation that the method swallowed is from then on its own affair.
        seat: whose turn it is, where it is a receiver's.
    """

    call: Callable[[], Any]
    kind: Literal["answer", "body", "open", "step"] = "answer"
    deadline: Deadline | None = None
    frame: Frame | None = None
    is_async: bool = False
    is_receiver: bool = True
    settles: bool = True
    seat: Any = None


@attrs.frozen
class Answer:
    """What a turn brought: a value or an exception, and whether that is the cancellation of the caller's own task."""

    value: Any = None
    error: BaseException | None = None
    is_cancel: bool = False

    @property
    def must_go_out(self) -> bool:
        """Whether nothing may keep this exception, not even a block: the caller's cancellation, or an interrupt."""
        is_interrupt = self.error is not None and not isinstance(self.error, (Exception, GeneratorExit))
        return self.is_cancel or (is_interrupt and not is_cancelled_error(self.error))


def do(step: Any, within: Deadline | None) -> Any:
    if within is not None and within.host is not None:
        return within.host.run(lambda: do(step, None))
    if isinstance(step, list):
        return [_perform(turn) for turn in step]
    return _perform(step)


def _perform(turn: Turn) -> Answer:
    """Make one call, in line or, with a deadline, in a worker thread."""
    cancels = Cancels()
    previous = CURRENT.get()
    CURRENT.set(turn.frame or previous)
    value: Any = None
    error: BaseException | None = None
    try:
        if turn.deadline is None:
            value = turn.call()
        else:
            turn.deadline.host = Host()
            value, error = turn.deadline.host.wait_for(turn.call, turn.deadline)
        if turn.kind == "answer" and error is None and isawaitable(value):
            close_unawaited(value)
            value, error = None, HookError("it returned an awaitable, but the hook is a plain def and cannot await it")
    except BaseException as raised:  # the story decides what becomes of it
        error = raised
    finally:
        CURRENT.set(previous)
    return Answer(value, error, is_cancel=cancels.explain(error))


async def do_async(step: Any, within: Deadline | None) -> Any:
    if within is not None:
        within.stop()
    try:
        if isinstance(step, list):
            return await _side_by_side(step)
        return await _perform_async(step)
    finally:
        if within is not None:
            within.start()


async def _perform_async(turn: Turn) -> Answer:
    """Make one call and await what it returns, in this task."""
    cancels = Cancels()
    previous = CURRENT.get()
    CURRENT.set(turn.frame or previous)
    value: Any = None
    error: BaseException | None = None
    has_waited = turn.deadline is not None
    try:
        if turn.deadline is not None:
            value, error = await _within(turn, turn.deadline)
        else:
            value = turn.call()
            has_waited = turn.kind != "open" and (turn.kind != "answer" or isawaitable(value))
            if has_waited:
                value = await value
    except BaseException as raised:  # the story decides what becomes of it
        error = raised
    finally:
        CURRENT.set(previous)
    if turn.is_receiver and has_waited and cancels.came():
        error = await cancellation(error)
    elif turn.settles and not turn.is_receiver and not is_cancelled_error(error) and cancels.came():
        try:
            await settle_swallowed(cancels)
        except BaseException as pending:
            error = pending
    return Answer(value, error, is_cancel=cancels.explain(error))


async def cancellation(error: Any) -> Any:
    """Return the caller's cancellation, also where the receiver swallowed it or it is still to be delivered."""
    import asyncio

    if is_cancelled_error(error):
        return error
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError as pending:
        return pending
    return swallowed()


def swallowed() -> BaseException:
    import asyncio

    return asyncio.CancelledError("a receiver swallowed this cancellation")


async def settle_swallowed(cancels: Cancels) -> Cancels:
    """Let a cancellation that came while the method ran be the method's own affair, if it has swallowed it.

    Raises:
        asyncio.CancelledError: if it is still to be delivered.
    """
    import asyncio

    await asyncio.sleep(0)
    cancels.settle()
    return cancels


async def _within(turn: Turn, deadline: Deadline) -> Pair:
    """Await one call until its deadline; what may block runs in a worker. A pair, as no coroutine lets StopIteration out."""
    import asyncio

    if asyncio._get_running_loop() is None:
        raise HookError("it has a deadline, which needs the event loop of asyncio where what it hooks is awaited")
    value: Any = None
    error: BaseException | None = None
    deadline.start()
    try:
        try:
            value, error = (turn.call(), None) if turn.is_async else await _in_worker(turn.call, deadline)
            if isawaitable(value):
                value = await _await_within(value, deadline, asyncio)
        except StopAsyncIteration:
            if deadline.left:
                raise
        # Blocking the loop cannot be interrupted, but a late answer is late.
        if not deadline.left:
            raise deadline.error()
        return value, error
    finally:
        deadline.stop()


async def _await_within(value: Awaitable[Any], deadline: Deadline, asyncio: Any) -> Any:
    loop = asyncio.get_running_loop()
    scope = asyncio.timeout(deadline.left)

    def reschedule(left: float | None) -> None:
        if not scope.expired():
            scope.reschedule(None if left is None else loop.time() + left)

    try:
        async with scope:
            deadline.on_change = reschedule
            try:
                return await value
            finally:
                deadline.on_change = None
    except TimeoutError:
        if scope.expired():
            raise deadline.error() from None
        raise


async def _in_worker(call: Callable[[], Any], deadline: Deadline) -> Pair:
    import asyncio

    job = workers.submit(call)
    waiter = asyncio.wrap_future(job)
    try:
        await asyncio.wait({waiter}, timeout=deadline.left)
        if not waiter.done():
            raise deadline.error()
        return waiter.result()
    finally:
        workers.abandon(job)
        waiter.cancel()


async def _side_by_side(turns: list[Turn]) -> list[Answer]:
    """Start every turn in order, and return when all are settled; a cancellation of the caller comes last."""
    answers: list[Any] = [None if t.is_async or t.deadline else _perform_first_half(t) for t in turns]
    if all(isinstance(answer, Answer) for answer in answers):
        return answers
    import asyncio

    left = [answer or turn for turn, answer in zip(turns, answers, strict=True) if not isinstance(answer, Answer)]
    loop = asyncio._get_running_loop()
    if loop is None:  # under trio, for instance: there they are awaited one after the other
        lived = iter([await _perform_async(turn) for turn in left])
    else:
        tasks = begin(loop.create_task, _perform_async, left, _refused)
        lived = iter(brought(tasks, await settle(tasks)))
    return [answer if isinstance(answer, Answer) else next(lived) for answer in answers] + list(lived)


async def _refused(turn: Turn, error: HookError) -> Answer:
    if turn.is_async:
        close_unawaited(turn.call())
    return Answer(error=error)


def _perform_first_half(turn: Turn) -> Answer | Turn:
    """Call in line; what returns an awaitable becomes a turn to await."""
    awaited = attrs.evolve(turn, kind="open")
    answer = _perform(awaited)
    return attrs.evolve(turn, call=lambda: answer.value, is_async=True) if isawaitable(answer.value) else answer


def brought(tasks: Iterable[Any], cancel: BaseException | None) -> list[Answer]:
    """Return what turns in tasks of their own brought, and last, if that came meanwhile, the cancellation of this task."""
    answers = [attrs.evolve(answer, is_cancel=answer.is_cancel and cancel is not None) for answer in map(_brought, tasks)]
    return [*answers, *([Answer(error=cancel, is_cancel=True)] if cancel is not None else [])]


def _brought(task: Any) -> Answer:
    if not task.done() or task.cancelled():
        import asyncio

        return Answer(error=asyncio.CancelledError())
    answer: Answer = task.result() or Answer()
    if is_cancelled_error(answer.error) or not Cancels.since(0, task).came():
        return answer
    return Answer(error=swallowed(), is_cancel=True)
