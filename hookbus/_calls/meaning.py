"""What answers, verdicts and failures mean: said here once, in plain Python, for every colour.

The text of a call (`story`) does what is usual in line and comes here with everything else. What ends a call raises; what
returns lets it go on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import CoroutineType, GeneratorType
from typing import Any, Final, Literal, NoReturn

from .._connections.callables import is_running
from .._connections.wanted import close_unawaited
from .._surroundings import current_surrounding
from ..events import (
    HIDDEN,
    Asked,
    Blocked,
    Event,
    Failed,
    Finished,
    Mutated,
    Started,
    current_surrounding,
)  # fmt: skip
from ..exceptions import HookBlocked, HookError, ReceiverError, chain
from .context import ENCLOSING, Call, ReadOnly
from .plan import Plan, Seat
from .verdicts import NOTHING, VERDICTS, Block, Drop, Replace

DROPPED: Final = object()
"""What an item becomes that does not reach the consumer."""

_CHANGES: Final = frozenset((Mutated, Asked))

PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set, type(None)})
"""Types of answers that need no second look: neither verdicts nor to be awaited."""

Action = Literal["isolated", "blocked", "raised"]


# -- beginning and end -------------------------------------------------------------------------------------------------


def begun(call: Call, values: Mapping[str, Any] | None) -> None:
    """Begin a call whose beginning or end somebody hears."""
    call.outer = ENCLOSING.get()
    call.parent_id = enclosing()
    call.inside = [call.id]
    ENCLOSING.set(call.inside)
    call.began = time.perf_counter()
    tell(call, Started, arguments=call.plan.signature.names, values=HIDDEN if values is None else values)


def enclosing() -> int | None:
    """Return the number of the observed call around the running code, None once it is over."""
    inside = ENCLOSING.get()
    return inside[0] if inside else None


def over(call: Call | None, error: BaseException) -> tuple[str, BaseException | None]:
    """Say how a call ends by this exception, and what goes out: nothing where its caller gets `call.parting`."""
    outcome = outcome_of(call, error)
    if call is None:
        return outcome, error
    if outcome == "blocked":
        return outcome, error if call.parting is NOTHING else None
    call.cancels = cancelling() or 0
    return outcome, error


def outcome_of(call: Call | None, error: BaseException) -> str:
    """Say how a call, or an attempt, ends by this exception."""
    if is_own_block(call, error):
        return "blocked"
    is_cancelled = is_cancelled_error(error) or isinstance(error, GeneratorExit)
    is_own = call is not None and error is call.own_cancel
    return "cancelled" if is_cancelled and not is_own else "raised"


def parted(call: Call | None, blocked: HookBlocked) -> bool:
    """Tell whether this ends the very call, with something else than an exception for its caller."""
    return call is not None and call.parting is not NOTHING and is_own_block(call, blocked)


def finished(call: Call, outcome: str, error: BaseException | None, result: Any) -> None:
    """Tell the end of a call that was begun; an interrupt may have come before that, or has it told once more."""
    if ENCLOSING.get() is call.inside:
        ENCLOSING.set(call.outer)
    told = error if outcome in ("raised", "cancelled") else None
    seconds = call.seconds()
    if call.began:
        tell(call, Finished, outcome=outcome, seconds=seconds, error=told, result=shown(call, result))
        call.began = 0.0
        call.inside.clear()


# -- what a receiver answered ------------------------------------------------------------------------------------------


def revised(call: Call, seat: Seat, answer: Any, values: tuple[Any, ...], draft: Any = None) -> tuple[Any, ...]:
    """Return the arguments as a modifier of `pre` leaves them: what it wrote into its draft, and what it answered."""
    plan, kind = call.plan, type(answer)
    before = dict(zip(plan.signature.names, values))
    after = dict(before if draft is None else draft)
    if issubclass(kind, Mapping):
        after.update(answer)
    elif answer is not None and not issubclass(kind, (Block, Replace)):
        wrong_return(seat, answer, "None, a mapping of arguments, Replace(result) or Block(reason)")
    if issubclass(kind, Replace):
        check_items(call, seat, answer)
    plan.signature.check(after)
    if issubclass(kind, Block):
        block(call, seat, answer)
    tell_changes(call, seat, before, after)
    if issubclass(kind, Replace):
        tell_change(call, seat, "result", None, answer.result)
    return tuple(after[name] for name in plan.signature.names)


def judged(call: Call, seat: Seat, answer: Any, before: Any, index: int | None = None) -> Any:
    """Return what an answer of `post` or `item` makes of a value, or `DROPPED`."""
    after = meant(call, seat, answer)
    if after is not before:
        told = None if after is DROPPED else after
        tell_change(call, seat, "item" if seat.phase == "item" else "result", before, told, index)
    return after


def meant(call: Call, seat: Seat, answer: Any) -> Any:
    """Return the value that an answer of `post`, `item` or an around stands for, or `DROPPED`."""
    kind = type(answer)
    if issubclass(kind, Block):
        block(call, seat, answer)
    if issubclass(kind, Drop):
        if seat.phase != "item":
            wrong_return(seat, answer, "None, the new result, Replace(result) or Block(reason)")
        return DROPPED
    if not call.plan.hook.is_async:
        _refuse_awaitable(answer)
    return answer.result if issubclass(kind, Replace) else answer


def refused(call: Call, seat: Seat, answer: Any) -> None:
    """Block by the answer of a guard; an answer that is none is its failure, which blocks, too."""
    if issubclass(type(answer), Block):
        block(call, seat, answer)
    try:
        wrong_return(seat, answer, "None or Block(reason): a guard changes nothing")
    except HookError as error:
        failed(call, seat, error)


def decided(call: Call, seat: Seat, answer: Any) -> None:
    """Report an observer that decides or patches; anything else it returns is nobody's business."""
    kind = type(answer)
    if kind in PLAIN and (kind is not dict or seat.phase != "pre"):
        return
    if issubclass(kind, VERDICTS) or (seat.phase == "pre" and issubclass(kind, Mapping)):
        wrong_return(seat, answer, "nothing: an observer decides nothing; connect it as a guard or a modifier")
    if not call.plan.hook.is_async:
        _refuse_awaitable(answer)


def rescued(call: Call, seat: Seat, answer: Any) -> Replace:
    """Return the verdict that rescues a call."""
    if not issubclass(type(answer), Replace):
        wrong_return(seat, answer, "None or Replace(result)")
    check_items(call, seat, answer)
    tell_change(call, seat, "result", None, answer.result)
    rescue: Replace = answer
    return rescue


def check_items(call: Call, seat: Seat, verdict: Replace) -> None:
    """Refuse a `Replace` for a stream that has no items to give."""
    hook = call.plan.hook
    if hook.is_stream:
        kinds = ("__iter__", "__aiter__") if hook.is_async else ("__iter__",)
        if not any(hasattr(type(verdict.result), kind) for kind in kinds):
            wrong_return(seat, verdict.result, "Replace(iterable): the hook is a stream")


def check_untampered(seat: Seat, view: ReadOnly, answer: Any = None) -> None:
    """Refuse what a receiver answers that wrote where it may only read."""
    if view.tampered:
        if is_awaitable(answer):
            close_unawaited(answer)
        instead = "write call_next(name=value)" if seat.phase == "around" else "which only a modifier of `pre` may do"
        raise HookError(f"{seat.receiver.label} wrote to ctx.kwargs; {instead}")


def wrong_return(seat: Seat, value: Any, allowed: str) -> NoReturn:
    _refuse_awaitable(value)
    kind = type(value).__name__
    raise HookError(f"{seat.receiver.label} on {seat.signal.name} returned a {kind}; return {allowed}")


def _refuse_awaitable(value: Any) -> None:
    if is_awaitable(value):
        close_unawaited(value)
        raise HookError("it returned an awaitable, but the hook is a plain def and cannot await it")


def is_awaitable(value: Any) -> bool:
    """Tell whether a value can be awaited, without asking it for its `__class__`, which may be code of its own."""
    kind = type(value)
    if kind is GeneratorType:
        return bool(value.gi_code.co_flags & 0x100)  # made a coroutine by types.coroutine
    return kind is CoroutineType or hasattr(kind, "__await__")


async def settled(answer: Any) -> Any:
    """Await an answer that can be; what a plain receiver of an async hook returned."""
    return await answer if is_awaitable(answer) else answer


def unawaited(answer: Any) -> Any:
    """Return an answer while a coroutine is being closed: then nothing can be awaited any more."""
    if is_awaitable(answer):
        close_unawaited(answer)
        raise HookError("the call is being closed, and it can await nothing any more")
    return answer


def misfit(seat: Seat) -> NoReturn:
    """Raise what keeps a receiver from serving this hook; that is its failure."""
    raise HookError(seat.problem or "it guards a phase this hook does not have")


def holds(answer: Any) -> bool:
    """Return what a `when=` predicate says."""
    if is_awaitable(answer):
        close_unawaited(answer)
        raise HookError("an async when= cannot be judged in time; write a plain predicate")
    return bool(answer)


def claimed(seat: Seat) -> bool:
    """Take the only turn of a receiver that is connected for once; False if it is taken."""
    if not seat.receiver.claim():
        return False
    seat.signal.drop(seat.receiver)
    return True


# -- a block, and a failure, which is an event -------------------------------------------------------------------------


def block(call: Call, seat: Seat, verdict: Block) -> NoReturn:
    """End the call by this verdict; only `finally` follows."""
    receiver = seat.receiver
    receiver.has_blocked = True
    call.said = "blocked"
    if not receiver.has_fired:
        fire(call.plan, seat)
    if Blocked in call.plan.heard:
        said = {"reason": verdict.reason, "code": verdict.code, "details": verdict.details}
        tell(call, Blocked, receiver=receiver.name, phase=seat.phase, **said)
    if call.blocked is None:  # of attempts side by side, the first that is blocked says why
        call.blocked, call.parting = (seat, verdict), verdict.result
    stand(call)


def stand(call: Call) -> NoReturn:
    """Raise that the call is blocked: whatever an around did with it, a block stands."""
    seat, verdict = call.blocked
    blocked = HookBlocked(
        verdict.reason, seat.receiver.name, call.plan.hook.name, verdict=verdict, call_id=call.id
    )
    try:
        raise blocked
    finally:
        # It tells nothing of the exception that is being handled: a model may read it. And no circle.
        blocked.__context__ = None
        del blocked


def is_own_block(call: Call | None, error: BaseException) -> bool:
    """Tell whether an exception says that this very call is blocked, and not one made inside it."""
    return call is not None and isinstance(error, HookBlocked) and error.call_id == call.id


def failed(call: Call, seat: Seat, error: BaseException, noted: BaseException | None = None) -> None:
    """Do what a receiver's failure does: nothing more, or end the call.

    Args:
        noted: the exception on its way out, which keeps a note of the failure.
    """
    receiver = seat.receiver
    if is_own_block(call, error) or is_closing(error):
        raise
    is_cancel = is_cancelled_error(error)
    if is_cancel and _is_of_caller(call):
        raise
    call.said = "failed"
    if not receiver.has_fired:
        fire(call.plan, seat)
    if not is_cancel and not isinstance(error, Exception):
        tell_failed(call, seat, error, "raised")
        raise
    if seat.phase in ("error", "finally") or receiver.on_error == "isolate":
        tell_failed(call, seat, error, "isolated")
        if noted is not None and not is_own_block(call, noted):
            note(noted, f"hookbus: {receiver.label} failed in {seat.phase}_{call.plan.hook.name}: {type(error).__name__}")
    elif receiver.on_error == "block":
        tell_failed(call, seat, error, "blocked")
        block(call, seat, Block(f"{receiver.role} failed: {type(error).__name__}"))
    else:
        tell_failed(call, seat, error, "raised")
        raise ReceiverError(receiver.name, call.plan.hook.name, seat.phase) from error


def deferred(
    call: Call, seat: Seat, error: BaseException, noted: BaseException | None, out: BaseException | None
) -> BaseException | None:  # fmt: skip
    """Return what goes out once all observers have had their turn: the first exception that must."""
    try:
        failed(call, seat, error, noted)
    except BaseException as ending:
        return out or ending
    return out


def escaped(call: Call, seat: Seat, error: BaseException) -> None:
    """Tell that an around failed, unless what comes out of it is only what it has inside, or the caller's."""
    is_late = call.is_over and not call.plan.hook.is_stream
    if is_late or is_own_block(call, error) or is_closing(error):
        return
    is_cancel = is_cancelled_error(error)
    is_of_caller = is_cancel and _is_of_caller(call)
    is_interrupt = not isinstance(error, (Exception, GeneratorExit)) and not is_cancel
    if call.blocked is not None and not is_of_caller and not is_interrupt:
        stand(call)
    if error is call.inner or is_of_caller or _stands_for(error, call.inner):
        return
    call.said = "failed"
    if call.inner is not None:
        chain(error, call.inner)
    tell_failed(call, seat, error, "raised")
    call.inner = error
    if is_cancel:
        call.own_cancel = error


def _stands_for(error: BaseException, inner: BaseException | None) -> bool:
    """Tell whether Python made an exception of a StopIteration, which no coroutine or generator lets out."""
    is_stop = isinstance(inner, (StopIteration, StopAsyncIteration))
    return isinstance(error, RuntimeError) and is_stop and error.__cause__ is inner


def note(error: BaseException, text: str) -> None:
    """Add a note to an exception; one that refuses it (a frozen dataclass) goes out as it is."""
    with suppress(Exception):
        error.add_note(text)


def is_cancelled_error(error: BaseException | None) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def cancelling() -> int | None:
    """Return how many cancellations the running task has been asked for, or None where no task runs."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
    return None if task is None else task.cancelling()


def _is_of_caller(call: Call) -> bool:
    """Tell whether a CancelledError is the caller's: its task was cancelled, or there is none to ask."""
    requested = cancelling()
    return requested is None or requested > call.cancels


def is_closing(error: BaseException) -> bool:
    """Tell whether an exception met at an `await` says that the coroutine is being closed.

    Then it comes from Python itself. One that the receiver has raised has its frame in the traceback.
    """
    if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
        return False
    waits_again = type(error) is RuntimeError and error.args == ("coroutine ignored GeneratorExit",)
    return isinstance(error, GeneratorExit) or waits_again


# -- events ------------------------------------------------------------------------------------------------------------


def tell(call: Call, kind: type[Event], **facts: Any) -> None:
    """Give an event to those who hear its kind."""
    plan = call.plan
    if kind in plan.heard:
        bus = plan.hook.bus
        bus.events.tell(bus, kind.of(
            call_id=call.id, parent_id=call.parent_id if call.inside else enclosing(), hook=plan.hook.name,
            sender=call.description, at=time.time(), surrounding=current_surrounding(), **facts,
        ))  # fmt: skip


def tell_failed(call: Call, seat: Seat, error: BaseException, action: Action) -> None:
    """Count a failure, and tell it."""
    receiver = seat.receiver
    is_deep = isinstance(error, RecursionError) and seat.phase != "around"
    if is_deep and is_running(receiver.function):
        error = _endless(seat, error)
    receiver.count_failure(error, is_open=action == "isolated")
    tell(call, Failed, receiver=receiver.name, role=receiver.role, phase=seat.phase, exception=error, action=action)


def tell_changes(call: Call, seat: Seat, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if not call.plan.heard.isdisjoint(_CHANGES):
        for name, value in after.items():
            if value is not before[name]:
                tell_change(call, seat, name, before[name], value)


def tell_change(call: Call, seat: Seat, name: str, before: Any, after: Any, index: int | None = None) -> None:
    call.said = "changed"
    before, after = (before, after) if call.plan.shows_values else (HIDDEN, HIDDEN)
    tell(call, Mutated, receiver=seat.receiver.name, name=name, before=before, after=after, index=index)


def asked(call: Call, seat: Seat, began: float) -> None:
    """Tell how a turn went, and that the next one has said nothing yet."""
    said, call.said = call.said, "nothing"
    receiver = seat.receiver
    seconds = time.perf_counter() - began
    tell(call, Asked, receiver=receiver.name, role=receiver.role, phase=seat.phase, seconds=seconds, answer=said)


def shown(call: Call, value: Any) -> Any:
    return value if call.plan.shows_values else HIDDEN


def fire(plan: Plan, last: Seat | None = None) -> None:
    """Note that everyone has had a turn who cannot be passed over, up to this seat or to the end."""
    for seat in plan.seats():
        receiver = seat.receiver
        if seat is last or not (receiver.is_weak or receiver.when or seat.is_muted_somewhere or seat.phase in ("error", "item")):
            receiver.has_fired = True
        if seat is last:
            return


def _endless(seat: Seat, error: RecursionError) -> HookError:
    """Return what the failure really is of a receiver whose turn made the call that asked it again, and so on."""
    receiver, hook = seat.receiver, seat.signal.hook
    endless = HookError(
        f"{receiver.label} calls {hook} in its own turn, which asks it again, without end; end it by a condition"
    )
    endless.__cause__ = error
    return endless.with_traceback(error.__traceback__)
