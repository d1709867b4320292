"""What answers mean: said here once, in plain Python, for every colour.

The text of a call (`story.txt`) does what is usual in line and comes here with everything else;
what ends a call raises, what returns lets it go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CoroutineType, GeneratorType, NoneType
from typing import Any, Final, NoReturn

from .._connections.wanted import close_unawaited
from ..exceptions import HookError
from .context import Call, ReadOnly
from .failing import block, failed
from .plan import Seat
from .telling import tell_change, tell_changes
from .verdicts import VERDICTS, Block, Drop, Replace

DROPPED: Final = object()
"""What an item becomes that does not reach the consumer."""

PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set, type(None)})
"""Types of answers that need no second look: neither verdicts nor to be awaited."""


def revised(
    call: Call, seat: Seat, answer: Any, values: tuple[Any, ...], draft: Any = None
) -> tuple[Any, ...]:
    """Return the arguments as a modifier of `pre` leaves them: what it wrote into its draft, and
    what it answered.
    """
    plan, kind = call.plan, type(answer)
    before = dict(zip(plan.signature.names, values))
    after = dict(before if draft is None else draft)
    if issubclass(kind, Mapping):
        after.update(answer)
    elif not issubclass(kind, (NoneType, Block, Replace)):
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
        wrong_return(
            seat,
            answer,
            "nothing: an observer decides nothing; connect it as a guard or a modifier",
        )
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
        instead = (
            "write call_next(name=value)"
            if seat.phase == "around"
            else "which only a modifier of `pre` may do"
        )
        raise HookError(f"{seat.receiver.label} wrote to ctx.kwargs; {instead}")


def wrong_return(seat: Seat, value: Any, allowed: str) -> NoReturn:
    _refuse_awaitable(value)
    kind = type(value).__name__
    raise HookError(
        f"{seat.receiver.label} on {seat.signal.name} returned a {kind}; return {allowed}"
    )


def _refuse_awaitable(value: Any) -> None:
    if is_awaitable(value):
        close_unawaited(value)
        raise HookError("it returned an awaitable, but the hook is a plain def and cannot await it")


def is_awaitable(value: Any) -> bool:
    """Tell whether a value can be awaited, without asking it for its `__class__`, which may be code
    of its own.
    """
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
