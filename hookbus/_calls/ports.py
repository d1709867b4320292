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


def apply_pre_guard_answer(call: Call, seat: Seat, answer: Any, asking: Any) -> Any:
    """Return the approval that the call requires after this guard's answer, or None. Apply any
    answer other than `Ask`.
    """
    if not issubclass(type(answer), Ask):
        apply_guard_answer(call, seat, answer)
    elif seat.receiver.options.shadow:  # a guard in shadow mode never requires approval
        emit_ask(call, seat, answer)
    else:
        _check_question(call, seat, answer.question)
        call.said = "asked"
        if asking is None:
            approver = call.plan.hook.bus._approver
            asking = Unapproved(call) if approver is None else approver.approval(call)
        asking.asks.append((seat, answer))
    return asking


def _check_question(call: Call, seat: Seat, question: Any) -> None:
    """Block the call if an `Ask` has no question, because this is a failure of the guard."""
    try:
        if not issubclass(type(question), str) or not question.strip():
            said = "returned an Ask without a question: describe the action to approve"
            raise HookError(f"{seat.receiver.name} {said}")
    except Exception as error:  # the question may be any object, so its own code may raise
        on_error(call, seat, error)


class Unapproved:
    """The guards of an attempt that require approval, on a bus without an approver.

    Attributes:
        asks: the guards that require approval, with their questions.
        values: always None, because no approver has edited the arguments.
    """

    values: tuple[Any, ...] | None = None

    def __init__(self, call: Call) -> None:
        self.call = call
        self.asks: list[tuple[Seat, Ask]] = []

    def approve(self, values: tuple[Any, ...], guards_now: Any) -> None:
        """Block the call."""
        self.refuse()

    async def approve_async(self, values: tuple[Any, ...], guards_now: Any) -> None:
        """Block the call."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Block the call because no approver is configured."""
        seat, ask = self.asks[0]
        why = "no approver is configured; set one with bus.approver(...)"
        block(self.call, seat, Block(unapproved(ask.question, why), code=ask.code))
