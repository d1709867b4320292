"""The failures of the failure table's rows, and the receivers that cause them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from hookbus import Block, Drop, Replace

from ._cells import Cell
from ._stage import BodyFailed, Stage

DEADLINE = 0.02
LENIENT_DEADLINE = 0.2
FAR_DEADLINE = 60.0
CANARY = "canary-7d41"
"""A secret in the text of the receiver's exception; nobody but `Failed` may show it."""

Deed = Callable[[Stage, Any], Any]


class Unusual(BaseException):
    """A BaseException that nobody has special rules for."""


def _recurse() -> NoReturn:
    _recurse()


def _exhaust_memory() -> NoReturn:
    bytearray(sys.maxsize)
    raise AssertionError("there is no such amount of memory")


def _import_what_is_missing() -> NoReturn:
    import a_dependency_nobody_installed  # noqa: F401

    raise AssertionError("there is no such module")


def _raise(error: BaseException) -> NoReturn:
    raise error


RAISES: dict[str, Callable[[], NoReturn]] = {
    "value_error": lambda: _raise(ValueError(f"the key is {CANARY}")),
    "memory_error": _exhaust_memory,
    "recursion_error": _recurse,
    "import_error": _import_what_is_missing,
    "keyboard_interrupt": lambda: _raise(KeyboardInterrupt()),
    "system_exit": lambda: _raise(SystemExit(CANARY)),
    "other_base_exception": lambda: _raise(Unusual(CANARY)),
}

ANSWERS: dict[str, Any] = {
    "true": True,
    "false": False,
    "zero": 0,
    "text": "yes",
    "list": ["msg"],
    "patch": {"msg": "patched"},
    "unknown_name": {"mgs": "patched"},
    "drop": Drop(),
    "block": Block("by its own decision"),
    "replace": Replace(["replaced"]),
}


def deadline_of(cell: Cell) -> float | None:
    """Return the deadline of the failing receiver, if it has one."""
    if cell.row == "times_out":
        return _short_deadline_of(cell)
    return FAR_DEADLINE if cell.has_a_far_deadline else None


def _short_deadline_of(cell: Cell) -> float:
    """Return the deadline to miss; an around that first calls what is inside must find the time to.
    """
    return LENIENT_DEADLINE if cell.phase in ("after", "after_failure") else DEADLINE


def _fails(stage: Stage, ctx: Any) -> NoReturn:
    with stage.catching_the_failure():
        _write_half_a_patch(stage, ctx)
        RAISES[stage.cell.deed]()


def _write_half_a_patch(stage: Stage, ctx: Any) -> None:
    if stage.cell.role == "modify" and stage.cell.phase == "pre":
        ctx.kwargs["msg"] = "half a patch"


def _late_answer(stage: Stage, ctx: Any) -> Any:
    """Say yes, write and answer when nobody waits any more."""
    if stage.cell.variant == "hangs":
        return None
    _write_half_a_patch(stage, ctx)
    return {"msg": "late"} if stage.cell.phase == "pre" else "late"


def _hangs(stage: Stage, ctx: Any) -> Any:
    with stage.hanging() as released:
        released.wait(stage.patience)
        return _late_answer(stage, ctx)


async def _hangs_in_the_loop(stage: Stage, ctx: Any) -> Any:
    if stage.cell.variant == "blocks_the_loop":
        time.sleep(2 * _short_deadline_of(stage.cell))
    else:
        # Whoever answers late swallows the cancel of its deadline, too.
        with (
            contextlib.suppress(asyncio.CancelledError)
            if stage.cell.variant == "answers_late"
            else stage.as_it_is()
        ):
            await asyncio.Event().wait()
    return _late_answer(stage, ctx)


def _is_cancelled(stage: Stage, ctx: Any) -> NoReturn:
    if stage.cell.variant != "with_no_task":
        stage.task.cancel()
    raise asyncio.CancelledError


async def _waits_to_be_cancelled(stage: Stage, ctx: Any) -> Any:
    stage.task.cancel()
    with (
        contextlib.suppress(asyncio.CancelledError)
        if stage.cell.deed == "swallowed"
        else stage.as_it_is()
    ):
        # An observer runs beside the call, which may wait for it to come to an end by itself.
        await (asyncio.sleep(0) if stage.cell.role == "observe" else asyncio.Event().wait())


def _cancels_itself(stage: Stage, ctx: Any) -> NoReturn:
    with stage.catching_the_failure():
        _write_half_a_patch(stage, ctx)
        raise asyncio.CancelledError(CANARY)


async def _awaits_what_is_cancelled(stage: Stage, ctx: Any) -> NoReturn:
    with stage.catching_the_failure():
        _write_half_a_patch(stage, ctx)
        future = asyncio.get_running_loop().create_future()
        future.cancel(CANARY)
        await future


def _answers(stage: Stage, ctx: Any) -> Any:
    deed = stage.cell.deed
    if deed == "write":
        ctx.kwargs["msg"] = "written"
    if deed == "swallowed_write":
        with contextlib.suppress(TypeError):
            ctx.kwargs["msg"] = "written"
        return None
    return stage.answer if deed in ("value", "no_stream") else ANSWERS[deed]


def _does_nothing(stage: Stage, ctx: Any) -> None:
    stage.trace.append("a receiver that must not run")


DEEDS: dict[str, Deed] = {
    "raises": _fails,
    "base_exception": _fails,
    "times_out": _hangs,
    "cancelled_a": _is_cancelled,
    "cancelled_b": _cancels_itself,
    "wrong_return": _answers,
    "async_on_sync": _does_nothing,
    "dies_by_weakref": _does_nothing,
    "when_raises": _does_nothing,
}
DEEDS_OF_A_COROUTINE: dict[str, Deed] = {
    "times_out": _hangs_in_the_loop,
    "cancelled_a": _waits_to_be_cancelled,
    "cancelled_b": _awaits_what_is_cancelled,
}


def failing_receiver(stage: Stage) -> Callable[..., Any]:
    """Return the receiver that fails as this cell says."""
    cell = stage.cell
    if cell.deed == "returned":
        return _returns_a_coroutine(stage)
    if cell.role == "around":
        return _around(stage)
    if cell.receiver == "def":
        return lambda agent, ctx: DEEDS[cell.row](stage, ctx)

    async def failing(agent: Any, ctx: Any) -> Any:
        return await _do(stage, ctx)

    return failing


async def _do(stage: Stage, ctx: Any) -> Any:
    """Commit the deed of a coroutine, or that of a def where they do not differ."""
    deed = DEEDS_OF_A_COROUTINE.get(stage.cell.row, DEEDS[stage.cell.row])
    answer = deed(stage, ctx)
    return await answer if inspect.iscoroutine(answer) else answer


def _returns_a_coroutine(stage: Stage) -> Callable[..., Any]:
    async def unseen(ctx: Any) -> None:
        _does_nothing(stage, ctx)

    def failing(agent: Any, ctx: Any) -> Any:
        stage.coroutines.append(unseen(ctx))
        return stage.coroutines[-1]

    if stage.cell.role == "around":
        return lambda agent, ctx, call_next: failing(agent, ctx)
    return failing


def _around(stage: Stage) -> Callable[..., Any]:
    cell = stage.cell
    if cell.variant == "no_stream":
        return _around_of_no_stream(stage)
    if cell.receiver == "def":
        return _around_generator(stage) if cell.is_stream else _around_sync(stage)
    return _around_async_generator(stage) if cell.is_stream else _around_async(stage)


def _around_sync(stage: Stage) -> Callable[..., Any]:
    deed = DEEDS[stage.cell.row]

    def failing(agent: Any, ctx: Any, call_next: Any) -> Any:
        if stage.cell.phase != "before":
            try:
                call_next()
            except BodyFailed:
                return deed(stage, ctx)
        return deed(stage, ctx)

    return failing


def _around_async(stage: Stage) -> Callable[..., Any]:
    async def failing(agent: Any, ctx: Any, call_next: Any) -> Any:
        if stage.cell.phase != "before":
            try:
                await call_next()
            except BodyFailed:
                return await _do(stage, ctx)
        return await _do(stage, ctx)

    return failing


def _around_generator(stage: Stage) -> Callable[..., Any]:
    deed = DEEDS[stage.cell.row]

    def failing(agent: Any, ctx: Any, call_next: Any) -> Any:
        if stage.cell.phase != "before":
            try:
                yield from call_next()
            except BodyFailed:
                return deed(stage, ctx)
        answer = deed(stage, ctx)
        if stage.cell.variant == "value" and stage.cell.phase == "before":
            yield answer
        return answer

    return failing


def _around_async_generator(stage: Stage) -> Callable[..., Any]:
    async def failing(agent: Any, ctx: Any, call_next: Any) -> Any:
        if stage.cell.phase != "before":
            try:
                async for item in call_next():
                    yield item
            except BodyFailed:
                await _do(stage, ctx)
                return
        answer = await _do(stage, ctx)
        if stage.cell.variant == "value":
            yield answer

    return failing


def _around_of_no_stream(stage: Stage) -> Callable[..., Any]:
    async def failing_async(agent: Any, ctx: Any, call_next: Any) -> Any:
        return stage.answer

    def failing(agent: Any, ctx: Any, call_next: Any) -> Any:
        return stage.answer

    return failing_async if stage.cell.is_async else failing
