"""A guard that asks: who asks for a yes, the person's answer, and what it was given for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import attrs

from .._connections.callables import place_of
from .._connections.options import options_of
from .._connections.receiver import Connected
from .._connections.wanted import close_unawaited, is_awaitable
from .._surroundings import current_surrounding
from ..events import Asked
from ..exceptions import HookError
from .context import Call
from .deadline import timed, timed_async, within
from .elsewhere import elsewhere
from .failing import block, failed, told
from .meaning import refused
from .plan import Seat
from .telling import tell, tell_changes
from .verdicts import Ask, Block

__tracebackhide__: Final = True

Asking = tuple[tuple[Seat, Ask], ...]
"""The guards of one round that ask for a yes, and what they ask."""


class Approver(Protocol):
    """Who answers for a bus, as `hookbus.approvals` makes it of what `bus.approver` is given.

    Attributes:
        name: what events call it.
        function: what was given, for its place.
        timeout: how many seconds the person has; None is no deadline.
        ask: asks in a plain call; `ask_async` in one that is awaited.
    """

    name: str
    function: Any
    timeout: float | None
    ask: Callable[[Any], Any]
    ask_async: Callable[[Any], Any]

    def request(self, facts: Mapping[str, Any]) -> Any:
        """Return the request of a call, with its `digest`; raise HookError for what has none."""
        ...

    def verdict(self, request: Any, answer: Any) -> Block | tuple[str, Mapping[str, Any] | None]:
        """Return the no, or who said yes and the arguments as they edited them."""
        ...


def weighed(call: Call, seat: Seat, answer: Any, asks: Asking | None) -> Asking | None:
    """Return who asks for a yes once this guard has answered; any other answer is refused."""
    if not issubclass(type(answer), Ask):
        refused(call, seat, answer)
    elif not seat.receiver.options.enforce:  # in shadow nobody is asked
        told(call, seat, Block(answer.question, code=answer.code, details=answer.details))
    else:
        call.said = "asked"
        return *(asks or ()), (seat, answer)
    return asks


def approve(
    call: Call, asks: Asking, values: tuple[Any, ...], before: Approval | None
) -> Approval:
    """Ask for a yes in a plain call; return it, or block the call.

    Args:
        values: the arguments as they are now.
        before: the yes of the round before, where the person edited the arguments.
    """
    approval = Approval(call, asks, values)
    if before is not None and before.covers(approval):
        return before.again()
    seat, ask = approval.seat, approval.approver.ask
    try:
        if seat.timeout is None:
            answer = ask(approval.request)
        else:
            answer = timed(seat, ask, approval.request)
        if is_awaitable(answer):
            answer = _elsewhere(call, seat, answer)
        return approval.settled(answer)
    except BaseException as error:
        failed(call, seat, error)
        raise  # not reached: who answers for a bus closes


async def approve_async(
    call: Call, asks: Asking, values: tuple[Any, ...], before: Approval | None
) -> Approval:
    """Ask for a yes in a call that is awaited; likewise."""
    approval = Approval(call, asks, values)
    if before is not None and before.covers(approval):
        return before.again()
    seat, ask = approval.seat, approval.approver.ask_async
    try:
        if seat.timeout is None:
            answer = ask(approval.request)
            answer = await answer if is_awaitable(answer) else answer
        elif approval.receiver.is_async:
            answer = await within(seat, ask(approval.request))
        else:
            answer = await timed_async(seat, ask, approval.request)
        return approval.settled(answer)
    except BaseException as error:
        failed(call, seat, error)
        raise  # not reached, as above


def _elsewhere(call: Call, seat: Seat, answer: Any) -> Any:
    if not call.plan.hook.given.awaits:
        close_unawaited(answer)
        raise HookError("it is async, and the hook is a plain def: write a plain def approver")
    return elsewhere(seat, lambda: answer)


class Approval:
    """The yes to one attempt: whose, and to which arguments.

    Attributes:
        values: the arguments as the person edited them, or None.
    """

    values: tuple[Any, ...] | None = None

    def __init__(self, call: Call, asks: Asking, values: tuple[Any, ...]) -> None:
        self.call, self._asking, self._values = call, asks, values
        bus = call.plan.hook.bus
        if bus._approver is None:
            seat, ask = asks[0]
            block(call, seat, Block(f"{ask.question}: nobody is there to say yes", code=ask.code))
        self.approver: Approver = bus._approver
        self.seat = _seat_of(call, self.approver)
        self.receiver = self.seat.receiver
        self.request = self._requested(values)
        self.began = time.perf_counter()

    def _requested(self, values: tuple[Any, ...]) -> Any:
        """Return the request with these arguments; what cannot be approved blocks."""
        call, hook = self.call, self.call.plan.hook
        arguments = dict(zip(call.plan.signature.names, values))
        arguments.pop(hook.given.sender or "", None)
        try:
            return self.approver.request({
                "hook": hook.name,
                "sender": call.description,
                "cls": call.sender if isinstance(call.sender, type) else type(call.sender),
                "asks": [(seat.receiver.name, ask) for seat, ask in self._asking],
                "arguments": arguments,
                "surrounding": current_surrounding(),
            })  # fmt: skip
        except HookError as error:
            block(call, self._asking[0][0], Block(f"this call cannot be approved: {error}"))

    def covers(self, other: Approval) -> bool:
        """Tell whether this yes is to what is asked now, by guards that had asked before."""
        seats = {seat for seat, _ in self._asking}
        return all(seat in seats for seat, _ in other._asking) and self._is_of(other._values)

    def again(self) -> Approval:
        """Return this yes once more, after the guards have judged what the person edited."""
        self.values = None
        return self

    def settled(self, answer: Any) -> Approval:
        """Return the yes; a no ends the call."""
        call, seat, ask = self.call, *self._asking[0]
        verdict = self.approver.verdict(self.request, answer)
        if isinstance(verdict, Block):
            block(call, seat, attrs.evolve(verdict, code=verdict.code or ask.code))
        by, edited = verdict
        if edited is not None:
            names = call.plan.signature.names
            before = dict(zip(names, self._values))
            after = {**before, **edited}
            tell_changes(call, self.seat, before, after)
            self.values = self._values = tuple(after[name] for name in names)
            self.request = self._requested(self._values)
        seconds = time.perf_counter() - self.began
        for asking, _ in self._asking:
            receiver = asking.receiver
            tell(
                call, Asked, receiver=receiver.name, role="guard", phase="pre", seconds=seconds,
                answer="approved", by=by,
            )  # fmt: skip
        return self

    def check(self, values: tuple[Any, ...]) -> None:
        """Block the call where it is not, right before the method, what was approved."""
        if not self._is_of(values):
            reason = "its arguments, or whose call it is, changed after it was approved"
            block(self.call, self._asking[0][0], Block(reason, code="drift"))

    def _is_of(self, values: tuple[Any, ...]) -> bool:
        return bool(self._requested(values).digest == self.request.digest)


def _seat_of(call: Call, approver: Approver) -> Seat:
    """Return the seat of who answers: it fails as a guard does."""
    signal = call.plan.hook.bus.signal(f"pre_{call.plan.hook.name}")
    options = options_of(role="guard", name=approver.name, timeout=approver.timeout)
    receiver = Connected(signal, approver.ask_async, None, options, 0)
    receiver.place, receiver.has_fired = place_of(approver.function), True
    return Seat(receiver, signal, "pre", approver.timeout)
