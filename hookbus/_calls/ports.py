"""Call packages that are loaded only when needed: background observers and approvals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from .._connections.verdicts import Ask, Block
from .._ground.errors import unapproved
from ..exceptions import HookError
from .context import Call, ReadOnly
from .meaning import apply_guard_answer
from .outcome import block, emit_ask, on_error
from .plan import Seat

__tracebackhide__: Final = True


def start(
    call: Call, seat: Seat, view: ReadOnly | None, function: Callable[..., Any], /,
    *args: Any, **kwargs: Any,
) -> None:  # fmt: skip
    """Start a background observer.

    Raises:
        HookError: if too many observers are running, or if an async observer has no running asyncio
            event loop.
    """
    call.plan.hook.bus._background.start(call, seat, view, function, *args, **kwargs)


def apply_pre_guard_answer(call: Call, seat: Seat, answer: Any) -> None:
    """Apply the answer of a `pre` guard on a bus without an approver: `Ask` blocks the call."""
    if _requires_approval(call, seat, answer):
        refuse(call, seat, answer)


def collect_ask(call: Call, seat: Seat, answer: Any, asking: Any) -> Any:
    """Apply the answer of a `pre` guard on a bus with an approver. Return the approval that the
    call requires after this answer, or None.
    """
    if _requires_approval(call, seat, answer):
        if asking is None:
            approver = call.plan.hook.bus._approver
            if approver is None:  # it was removed during the call
                refuse(call, seat, answer)
            asking = approver.approval(call)
        asking.asks.append((seat, answer))
    return asking


def _requires_approval(call: Call, seat: Seat, answer: Any) -> bool:
    """Return whether the answer of a guard is a valid `Ask`. Apply any other answer."""
    if not issubclass(type(answer), Ask):
        apply_guard_answer(call, seat, answer)
    elif seat.receiver.options.shadow:  # a guard in shadow mode never requires approval
        emit_ask(call, seat, answer)
    else:
        _check_question(call, seat, answer.question)
        call.said = "asked"
        return True
    return False


def _check_question(call: Call, seat: Seat, question: Any) -> None:
    """Block the call if an `Ask` has no question, because this is a failure of the guard."""
    try:
        if not issubclass(type(question), str) or not question.strip():
            said = "returned an Ask without a question: describe the action to approve"
            raise HookError(f"{seat.receiver.name} {said}")
    except Exception as error:  # the question may be any object, so its own code may raise
        on_error(call, seat, error)


def refuse(call: Call, seat: Seat, ask: Ask) -> NoReturn:
    """Block a call that requires approval, because no approver is configured."""
    why = "no approver is configured; set one with bus.approver(...)"
    try:
        block(call, seat, Block(unapproved(ask.question, why), code=ask.code))
    finally:
        call.said = "asked"  # in the event about this guard
