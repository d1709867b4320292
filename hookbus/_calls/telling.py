"""What is told of a call: its beginning and end, changes and failures, each to those who hear it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, Literal

from .._connections.callables import is_running
from .._surroundings import current_surrounding
from ..events import HIDDEN, Asked, Event, Failed, Finished, Mutated, Started
from ..exceptions import HookError
from .context import ENCLOSING, Call
from .plan import Plan, Seat

_CHANGES: Final = frozenset((Mutated, Asked))

Action = Literal["isolated", "blocked", "raised"]


def begun(call: Call, values: Mapping[str, Any] | None) -> None:
    """Begin a call whose beginning or end somebody hears."""
    call.outer = outer = ENCLOSING.get()
    call.parent_id = outer[0] if outer else None
    call.inside = [call.id]
    ENCLOSING.set(call.inside)
    call.began = time.perf_counter()
    tell(
        call,
        Started,
        arguments=call.plan.signature.names,
        values=HIDDEN if values is None else values,
    )


def enclosing() -> int | None:
    """Return the number of the observed call around the running code, None once it is over."""
    inside = ENCLOSING.get()
    return inside[0] if inside else None


def finished(call: Call, outcome: str, error: BaseException | None, result: Any) -> None:
    """Tell the end of a call that was begun; an interrupt may have come before that, or has it told
    once more.
    """
    if ENCLOSING.get() is call.inside:
        ENCLOSING.set(call.outer)
    told = error if outcome in ("raised", "cancelled") else None
    seconds = time.perf_counter() - call.began
    if call.began:
        given = result if call.plan.shows_values else HIDDEN
        tell(call, Finished, outcome=outcome, seconds=seconds, error=told, result=given)
        call.began = 0.0
        call.inside.clear()


def tell(call: Call, kind: type[Event], **facts: Any) -> None:
    """Give an event to those who hear its kind."""
    plan = call.plan
    if kind in plan.heard:
        bus = plan.hook.bus
        bus.events.tell(
            bus,
            kind.of(
                call_id=call.id,
                parent_id=call.parent_id if call.inside else enclosing(),
                hook=plan.hook.name,
                sender=call.description,
                at=time.time(),
                surrounding=current_surrounding(),
                **facts,
            ),
        )


def tell_failed(call: Call, seat: Seat, error: BaseException, action: Action) -> None:
    """Count a failure, and tell it."""
    receiver = seat.receiver
    if (
        isinstance(error, RecursionError)
        and seat.phase != "around"
        and is_running(receiver.function)
    ):
        error = _endless(seat, error)
    receiver.count_failure(error, is_open=action == "isolated")
    tell(
        call,
        Failed,
        receiver=receiver.name,
        role=receiver.role,
        phase=seat.phase,
        exception=error,
        action=action,
    )


def tell_changes(
    call: Call, seat: Seat, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    if not call.plan.heard.isdisjoint(_CHANGES):
        for name, value in after.items():
            if value is not before[name]:
                tell_change(call, seat, name, before[name], value)


def tell_change(
    call: Call, seat: Seat, name: str, before: Any, after: Any, index: int | None = None
) -> None:
    call.said = "changed"
    before, after = (before, after) if call.plan.shows_values else (HIDDEN, HIDDEN)
    tell(
        call,
        Mutated,
        receiver=seat.receiver.name,
        name=name,
        before=before,
        after=after,
        index=index,
    )


def asked(call: Call, seat: Seat, began: float) -> None:
    """Tell how a turn went, and that the next one has said nothing yet."""
    said, call.said = call.said, "nothing"
    receiver = seat.receiver
    seconds = time.perf_counter() - began
    tell(
        call,
        Asked,
        receiver=receiver.name,
        role=receiver.role,
        phase=seat.phase,
        seconds=seconds,
        answer=said,
    )


def fire(plan: Plan, last: Seat | None = None) -> None:
    """Note that everyone has had a turn who cannot be passed over, up to this seat or to the end.
    """
    for seat in plan.seats():
        receiver = seat.receiver
        if seat is last or not (
            receiver.is_weak
            or receiver.when
            or seat.is_muted_somewhere
            or seat.phase in ("error", "item", "answer")
        ):
            receiver.has_fired = True
        if seat is last:
            return


def _endless(seat: Seat, error: RecursionError) -> HookError:
    """Return what the failure really is of a receiver whose turn made the call that asked it again,
    and so on.
    """
    receiver, hook = seat.receiver, seat.signal.hook
    endless = HookError(
        f"{receiver.label} calls {hook} in its own turn, which asks it again, without end; "
        "end it by a condition"
    )
    endless.__cause__ = error
    return endless.with_traceback(error.__traceback__)
