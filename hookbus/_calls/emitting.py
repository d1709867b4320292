"""Emit the events of a call (start, end, changes and failures) to their listeners."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any, Final, Literal

from .._connections.failures import is_worded_here
from .._connections.senders import attributes_of
from .._ground.baggage import Baggage, current_baggage
from .._ground.errors import is_a, name_of_class
from .._ground.plain import copy_containers
from .._hooks.ports import advice_of
from ..events import Event, Failed, Finished, Invoked, Mutated, Started
from ..exceptions import HookError
from .carried import Carried, changes_since, leave_context
from .context import ENCLOSING, Call
from .plan import Seat

Action = Literal["isolated", "blocked", "raised"]

ONLY_A_MODIFIER: Final = "which only a modifier of `pre` may do"

_THEN: Final[dict[Action, str]] = {
    "isolated": ", and the call continued without it",
    "blocked": ", which blocked the call",
    "raised": ", which ended the call",
}


_NAMES: Final = ("name", "model_name", "model", "model_id", "_model_name", "ai_model_id")
"""The attributes in which objects of frameworks keep their names."""

_SETTINGS: Final = ("config", "_create_args")
"""The attributes in which these objects keep their settings, which may contain the name."""

_LONGEST_LABEL: Final = 200

_OF_MISUSE: Final = (HookError, PermissionError, TypeError, AttributeError, RecursionError)
"""The types of exceptions that a misuse of hookbus can cause."""


def emit_started(
    call: Call, values: Mapping[str, Any] | None, labels: Mapping[str, Any] | None = None
) -> None:
    """Emit the start of a call with its labels, if the start or end has a listener."""
    call.outer = outer = ENCLOSING.get()
    call.parent_id = outer[0] if outer else None
    call.inside = [call.id]
    ENCLOSING.set(call.inside)
    call.began = time.perf_counter()
    if labels:
        said = {name: _label(each) for name, each in labels.items() if each is not None}
        call.labels = Baggage(said)
    template = call.plan.templates.get(Started)
    if template is not None:
        fields = template.copy()
        fields["at"] = time.time()
        if values is not None:
            fields["values"] = copy_containers(values)
        fields["labels"] = call.labels
        call.described = call.plan.describe_sender(call.sender)
        _emit(call, Started, fields)


def emit_stream_started(
    call: Call, values: Mapping[str, Any] | None, labels: Mapping[str, Any] | None = None
) -> Carried | None:
    """Emit the start of a stream. Return the context variables that listeners set. These variables
    apply only in the body of the stream.
    """
    before = copy_context()
    try:
        emit_started(call, values, labels)
    finally:
        call.carried = carried = changes_since(before)
    return carried


def _label(value: Any) -> str:
    """Return a label as a string: the value itself if it is a short string, else the object's name
    or class.
    """
    if type(value) is int:
        value = str(value)
    elif type(value) is not str:
        held = attributes_of(value)
        boxes = [held, *(held[box] for box in _SETTINGS if type(held.get(box)) is dict)]
        named = (box[name] for box in boxes for name in _NAMES if type(box.get(name)) is str)
        value = next(named, type(value).__qualname__)
    is_short = len(value) <= _LONGEST_LABEL
    return value if is_short else f"<text of {len(value)} characters>"


def enclosing() -> int | None:
    """Return the number of the observed call that contains the running code, or None if that call
    has ended.
    """
    inside = ENCLOSING.get()
    return inside[0] if inside else None


def emit_finished(call: Call, outcome: str, error: BaseException | None, result: Any) -> None:
    """Emit the end of a call whose start was emitted. An interrupt may prevent the start, or may
    cause a second call to this function.
    """
    if ENCLOSING.get() is call.inside:
        ENCLOSING.set(call.outer)
    shown_error = error if outcome in ("raised", "cancelled") else None
    seconds = time.perf_counter() - call.began
    if call.began:
        template = call.plan.templates.get(Finished)
        if template is not None:
            fields = template.copy()
            fields["at"] = time.time()
            fields["outcome"] = outcome
            fields["seconds"] = seconds
            fields["error"] = shown_error
            if call.plan.shows_values:
                fields["result"] = copy_containers(result)
            fields["labels"] = call.labels
            _emit(call, Finished, fields)
        if call.carried:
            leave_context(call.carried)
        call.began = 0.0
        call.inside.clear()


def emit(call: Call, kind: type[Event], **facts: Any) -> bool:
    """Emit an event to the listeners of its kind. Return whether any listener received the event.
    The event gets the current time unless `facts` contains `at`.
    """
    template = call.plan.templates.get(kind)
    return template is not None and _emit(call, kind, {**template, "at": time.time(), **facts})


def _emit(call: Call, kind: type[Event], fields: dict[str, Any]) -> bool:
    """Complete the fields of an event, and deliver the event. Return whether any listener received
    it.
    """
    around = current_baggage()  # inlined, because this runs for every event
    if not around.is_fixed:
        around = Baggage(copy_containers(around))
    fields["call_id"] = call.id
    fields["parent_id"] = call.parent_id if call.inside or call.parent_id else enclosing()
    fields["sender"] = call.described or call.description
    fields["baggage"] = around
    events = call.plan.hook.bus.events
    emit = (events.by_kind or events.find_listeners())[kind]
    return emit is not None and emit(fields)


def emit_failed(call: Call, seat: Seat, error: BaseException, action: Action) -> str:
    """Count a failure and emit it. If no listener received the event, log the failure. Return a
    description of the failure that a model may read.
    """
    receiver, is_open, kind = seat.receiver, action == "isolated", type(error)
    sentence = None
    if issubclass(kind, _OF_MISUSE):
        said = str(error) if is_worded_here(error) else _described(call, seat, error)
        sentence = said and said.replace(receiver.label, receiver.name)
    place = receiver.count_failure(error, is_open=is_open, sentence=sentence)
    is_heard = Failed in call.plan.listened_kinds and emit(
        call, Failed, receiver=receiver.name, role=receiver.role, phase=seat.phase,
        exception=error, action=action, enforced=not receiver.options.shadow, place=place,
        message=sentence or None,
    )  # fmt: skip
    # The caller gets what an around raises, or an interrupt, unchanged.
    is_passed_on = action == "raised" and (
        receiver.role == "around" or not issubclass(kind, Exception)
    )
    if not (is_heard or is_passed_on or receiver.is_logged):
        receiver.log_failure(_THEN[action], is_open=is_open)
    return sentence or str(name_of_class(kind))


def _described(call: Call, seat: Seat, error: BaseException) -> str | None:
    """Return a message if a receiver misused hookbus, else None."""
    if is_a(error, RecursionError):  # the stack may be too short to load a package
        stop = f"if it calls {seat.signal.hook}, stop the recursion with a condition"
        reached = f"{seat.receiver.name} reached the recursion limit; {stop}"
        return reached if seat.phase != "around" else None
    advice = advice_of(call.plan.hook.bus)
    message: str | None = advice and advice.describe_misuse(seat, error)
    return message


def emit_change(
    call: Call, seat: Seat, name: str, before: Any, after: Any, index: int | None = None,
    dropped: bool = False,
) -> None:  # fmt: skip
    call.said = "changed"
    template = call.plan.templates.get(Mutated)
    if template is not None:
        fields = template.copy()
        fields["at"] = time.time()
        fields["receiver"] = seat.receiver.name
        fields["name"] = name
        if call.plan.shows_values:
            fields["before"] = copy_containers(before)
            fields["after"] = copy_containers(after)
        fields["index"] = index
        fields["dropped"] = dropped
        _emit(call, Mutated, fields)


def emit_invoked(call: Call, seat: Seat, began: float) -> None:
    """Emit the answer of one receiver, and reset the answer for the next receiver."""
    said, call.said = call.said, "nothing"
    receiver = seat.receiver
    seconds = time.perf_counter() - began
    emit(
        call, Invoked, receiver=receiver.name, role=receiver.role, phase=seat.phase,
        seconds=seconds, answer=said,
    )  # fmt: skip
