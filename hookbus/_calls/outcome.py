"""End a call early after a block, a failure or a cancellation, and emit failures as events."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Final, NoReturn

from .._callables.callables import place_of, written
from .._callables.parameters import close_unawaited, is_awaitable
from .._connections.failures import ERROR, is_of_engine, log, traces_of
from .._connections.verdicts import NOTHING, Ask, Block
from .._ground.errors import (
    call_id_of,
    cause_of,
    chain,
    details_of,
    is_a,
    name_of_class,
    note,
    set_context,
    set_traceback,
    traceback_of,
)  # fmt: skip
from .._ground.plain import copy_containers
from .._ground.running_loop import running_task
from ..events import Blocked
from ..exceptions import CallPaused, HookBlocked, HookError, ReceiverError
from .context import Call
from .emitting import emit, emit_failed
from .plan import Seat

__tracebackhide__: Final = True


def classify_exit(call: Call | None, error: BaseException) -> tuple[str, BaseException | None]:
    """Return the outcome of a call that an exception ends, and the exception for the caller. The
    exception is None if the caller gets `call.blocked_value` instead.
    """
    outcome = outcome_of(call, error)
    is_parted = is_a(error, HookBlocked) and ends_with_value(call, error)
    if call is not None and outcome != "blocked":
        call.cancels = cancelling() or 0
    return outcome, None if is_parted else error


def outcome_of(call: Call | None, error: BaseException) -> str:
    """Return the outcome of a call or an attempt that an exception ends."""
    if is_own_block(call, error):
        return "blocked"
    is_cancelled = is_cancelled_error(error) or is_a(error, GeneratorExit)
    is_own = call is not None and error is call.own_cancel
    if is_cancelled and not is_own:
        return "cancelled"
    passes = () if call is None else call.plan.site.passes
    return "paused" if is_a(error, CallPaused, *passes) else "raised"


def ends_with_value(call: Call | None, blocked: HookBlocked) -> bool:
    """Return whether the caller of a blocked call gets a value instead of this exception."""
    if call is None or call.blocked is None or call_id_of(blocked) != call.id:
        clear(blocked)
        return False
    # The currently handled exception must not be visible, because a model may read it.
    is_deep = bool(call.plan.phases["around"].modify)  # arounds add frames
    if type(blocked) is HookBlocked and not is_deep:  # the usual case
        blocked.__traceback__ = blocked.__context__ = None
        return call.blocked_value is not NOTHING
    if is_deep:
        clear(blocked)
    else:
        set_traceback(blocked, None)
    set_context(blocked, None)
    return call.blocked_value is not NOTHING


def clear(blocked: HookBlocked) -> None:
    """Remove the frames of hookbus from the traceback of a block, but keep the frames of receivers.
    """
    trace = None
    for each in reversed([*traces_of(blocked)]):
        if not is_of_engine(each.tb_frame.f_code):
            trace = TracebackType(trace, each.tb_frame, each.tb_lasti, each.tb_lineno)
    set_traceback(blocked, trace)


def block(call: Call, seat: Seat, verdict: Block) -> NoReturn:
    """End the call with a verdict. After that, only the phase `finally` runs."""
    _throw(blocking(call, seat, verdict))


def blocking(call: Call, seat: Seat, verdict: Block) -> HookBlocked:
    """Return the exception that ends the call with a verdict."""
    plan, receiver = call.plan, seat.receiver
    if plan.listened_kinds or not receiver.has_blocked:
        emit_block(call, seat, verdict)
    if call.blocked is not None:  # the first block of parallel attempts counts
        return _blocked(call)
    call.blocked = seat, verdict
    if verdict.result is not NOTHING:
        call.blocked_value = verdict.result
    elif plan.site.on_block is not None:
        call.blocked_value = _of_host(call)
    return _blocked(call)


def emit_ask(call: Call, seat: Seat, answer: Ask) -> None:
    """Emit the approval that a guard in shadow mode would require."""
    verdict = Block(answer.question, code=answer.code, details=answer.details)
    emit_block(call, seat, verdict, is_asked=True)


def emit_block(call: Call, seat: Seat, verdict: Block, *, is_asked: bool = False) -> None:
    """Emit a verdict. The verdict of a guard in shadow mode has no other effect."""
    receiver = seat.receiver
    call.said = "blocked"
    receiver.has_blocked = True
    if Blocked in call.plan.listened_kinds:
        details = copy_containers(verdict.details)
        said: dict[str, Any] = {"reason": verdict.reason, "code": verdict.code, "details": details}
        said |= {"enforced": not receiver.options.shadow, "asked": is_asked}
        emit(call, Blocked, receiver=receiver.name, phase=seat.phase, **said)


def _of_host(call: Call) -> Any:
    """Return the value that `on_block=` provides for the caller, or NOTHING if the caller gets
    `HookBlocked`.
    """
    ask = call.plan.site.on_block
    try:
        answer = ask(_blocked(call))
        if not is_awaitable(answer):
            return answer
        close_unawaited(answer)
        failure = "returned an awaitable"
    except Exception as error:
        failure = f"raised {name_of_class(type(error))}"
    said = f"the on_block= function of {call.plan.hook.name} {failure} ({written(place_of(ask))})"
    log(ERROR, f"{said}; the caller gets HookBlocked instead")
    return NOTHING


def _blocked(call: Call) -> HookBlocked:
    seat, verdict = call.blocked
    raised: HookBlocked = verdict.raises(verdict.reason, seat.receiver.name, call.plan.hook.name)
    raised.verdict, raised.call_id = verdict, call.id
    return raised


def raise_block(call: Call) -> NoReturn:
    """Raise `HookBlocked` again for a blocked call. A block is final, even if an around suppresses
    the exception.
    """
    _throw(_blocked(call))


def _throw(blocked: HookBlocked) -> NoReturn:
    try:
        raise blocked
    finally:
        # The currently handled exception must not be visible, because a model may read it. A
        # reference cycle must not be created.
        blocked.__context__ = None
        del blocked


def is_own_block(call: Call | None, error: BaseException) -> bool:
    """Return whether an exception is the block of this call and not of a nested call."""
    if call is None or call.blocked is None:  # call ids are unique only within a process
        return False
    return is_a(error, HookBlocked) and call_id_of(error) == call.id


def on_error(
    call: Call, seat: Seat, error: BaseException, noted: BaseException | None = None
) -> None:
    """Handle the failure of a receiver: continue the call or end it.

    Args:
        noted: the exception that the caller will get, if there is one. hookbus adds a note about
            the failure to this exception.
    """
    receiver, is_failure = seat.receiver, issubclass(type(error), Exception)
    if not is_failure or issubclass(type(error), (HookBlocked, RuntimeError)):
        is_cancel = is_cancelled_error(error)
        if is_own_block(call, error) or is_closing(error) or (is_cancel and _is_of_caller(call)):
            raise
        is_failure = is_failure or is_cancel
    call.said = "failed"
    if not is_failure:
        emit_failed(call, seat, error, "raised")
        raise
    if seat.phase in ("error", "finally") or receiver.on_error == "isolate":
        said = emit_failed(call, seat, error, "isolated")
        if noted is not None and not is_own_block(call, noted):
            where = f"{seat.phase}_{call.plan.hook.name}"
            note(noted, f"hookbus: {receiver.label} failed in {where}: {said}")
    elif receiver.on_error == "block":
        said = emit_failed(call, seat, error, "blocked")
        block(call, seat, Block(f"{receiver.role} failed: {said}", details=details_of(error)))
    else:
        emit_failed(call, seat, error, "raised")
        raised = ReceiverError(receiver.name, call.plan.hook.name, seat.phase)
        if seat.phase == "answer" and call.plan.phases["around"].modify and call.broken is None:
            call.broken = raised  # no around can suppress it
        try:
            raise raised from error
        finally:
            del raised


def more_urgent(out: BaseException | None, ending: BaseException) -> BaseException:
    """Return the more urgent of two exceptions. The result is the first exception, unless the first
    is an `Exception` and the second is not.
    """
    if out is None or (is_a(out, Exception) and not is_a(ending, Exception)):
        return ending
    return out


def on_error_deferred(
    call: Call, seat: Seat, error: BaseException, noted: BaseException | None,
    out: BaseException | None,
) -> BaseException | None:  # fmt: skip
    """Handle a failure, and return the most urgent exception so far. It is raised after all
    observers have been called.
    """
    try:
        on_error(call, seat, error, noted)
    except BaseException as ending:
        return more_urgent(out, ending)
    finally:
        del error, noted  # this frame is in the traceback: avoid a reference cycle
    return out


def on_around_error(call: Call, seat: Seat, error: BaseException) -> None:
    """Emit the failure of an around, unless the exception only passed through the around or belongs
    to the caller.
    """
    is_late = call.is_over and not call.plan.hook.is_stream
    if is_late or is_own_block(call, error) or is_closing(error):
        return
    is_cancel = is_cancelled_error(error)
    is_of_caller = is_cancel and _is_of_caller(call)
    is_interrupt = not is_a(error, Exception, GeneratorExit) and not is_cancel
    if call.blocked is not None and not is_of_caller and not is_interrupt:
        raise_block(call)
    if call.broken is not None and not is_of_caller and not is_interrupt:
        raise call.broken
    if call.paused is not None and not is_of_caller and not is_interrupt:
        raise call.paused
    if error is call.inner or is_of_caller or _stands_for(error, call.inner):
        return
    call.said = "failed"
    if call.inner is not None:
        chain(error, call.inner)
    said = emit_failed(call, seat, error, "raised")
    if said != name_of_class(type(error)) and not is_a(error, HookError):
        note(error, f"hookbus: {said}")
    call.inner = error
    if is_cancel:
        call.own_cancel = error


def _stands_for(error: BaseException, inner: BaseException | None) -> bool:
    """Return whether Python replaced a StopIteration with this exception, because coroutines and
    generators must not raise StopIteration.
    """
    is_stop = is_a(inner, StopIteration, StopAsyncIteration)
    return is_a(error, RuntimeError) and is_stop and cause_of(error) is inner


def is_cancelled_error(error: BaseException | None) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and is_a(error, asyncio.CancelledError)


def cancelling() -> int | None:
    """Return the number of cancellation requests to the running task, or None without a task."""
    task = running_task()
    return None if task is None else task.cancelling()


def _is_of_caller(call: Call) -> bool:
    """Return whether a CancelledError concerns the caller, because its task was cancelled or there
    is no task.
    """
    requested = cancelling()
    return requested is None or requested > call.cancels


def is_closing(error: BaseException) -> bool:
    """Return whether an exception at an `await` means that the coroutine is being closed. In that
    case, Python itself raised the exception, so the traceback contains no frame of the receiver.
    """
    trace = traceback_of(error)
    if trace is not None and trace.tb_next is not None:
        return False
    waits_again = type(error) is RuntimeError and error.args == ("coroutine ignored GeneratorExit",)
    return is_a(error, GeneratorExit) or waits_again
