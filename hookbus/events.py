"""Immutable records of events on a bus. Listeners of `bus.events` get these objects.

A listener is called as `listener(bus, event)`. Values (arguments, results and changed values) are
`HIDDEN` unless the bus was created with `values=True`. Exceptions and reasons are always present.
Containers in the values are copied when the event is created, so later changes do not affect the
event.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

import attrs

from ._ground.baggage import NOTHING_AROUND, Baggage, current_baggage
from ._ground.plain import copy_containers, name_of_type, place_of_raise, plain

__all__ = [
    "HIDDEN", "KINDS", "Attempted", "Blocked", "Event", "Failed", "Finished", "Invoked", "Lost",
    "Mutated", "Reloaded", "Started", "Switched",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


class _Hidden(enum.Enum):
    HIDDEN = "hidden"

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


HIDDEN: Final = _Hidden.HIDDEN
"""Replaces a value in an event of a bus that was created without `values=True`."""


def _as_type(error: BaseException | None) -> str:
    return "None" if error is None else f"<{name_of_type(type(error))}>"


def copy_baggage() -> Baggage:
    """Return a copy of the baggage of the running code."""
    around = current_baggage()
    return around if around.is_fixed else Baggage(copy_containers(around))


@attrs.frozen(kw_only=True, slots=False)
class Event:
    """The fields that every event has.

    Attributes:
        call_id: the number of the call, unique in this process. It is 0 for an event that is not
            about a call.
        parent_id: the number of the observed call that made this call, or None.
        hook: the name of the hook.
        sender: a description of the sender, never the object itself.
        at: the time in seconds since the epoch.
        baggage: the values that `hookbus.baggage` attached to the call.
    """

    _is_of_call: ClassVar[bool] = True

    call_id: int
    parent_id: int | None
    hook: str
    sender: str
    at: float
    baggage: Mapping[str, Any] = attrs.field(factory=copy_baggage, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON data: the name of its class as `event`, then its fields.

        `HIDDEN` fields are omitted. For an exception, only its `type` and its `place` (`file:line`)
        are included, never its message. Placeholders such as `<Agent>` replace other objects and
        values that are too large.
        """
        kind: Any = type(self)
        said: dict[str, Any] = {"event": kind.__name__}
        for name, value in attrs.asdict(self, recurse=False).items():
            if issubclass(type(value), BaseException):
                said[name] = self._of_exception(value)
            elif value is not HIDDEN:
                said[name] = plain(value)
        return said

    def _of_exception(self, error: BaseException) -> dict[str, Any]:
        return {"type": name_of_type(type(error)), "place": place_of_raise(error)}


@attrs.frozen(kw_only=True, slots=False)
class Started(Event):
    """A call started. The event contains the names of the arguments and, with `values=True`, their
    values.

    The `labels` identify the call: `name`, `kind`, `call_id` and `caller` for a tool call, `model`
    and `caller` for a model call, `agent` for a run. Unknown labels are omitted.
    """

    arguments: tuple[str, ...]
    values: Mapping[str, Any] | _Hidden = HIDDEN
    labels: Mapping[str, str] = attrs.field(default=NOTHING_AROUND, hash=False)


@attrs.frozen(kw_only=True, slots=False)
class Invoked(Event):
    """A receiver was called in a `phase` with its `role`. The event is delivered only to listeners
    that list this class in `kinds=`.

    The answer is `"nothing"`, `"changed"`, `"blocked"`, `"asked"` (approval is required),
    `"answered"` (a question), `"failed"`, or `"not asked"` if its `when=` returned false. After an
    approval, the guard that required it is reported again with the answer `"approved"`. Then
    `seconds` is the time that the approver took, and `by` is the name of the approver. If a coding
    agent asked its own user, the answer is `"handed on"`, and `by` is the name of the agent.
    """

    receiver: str
    role: str
    phase: str
    seconds: float
    answer: Literal[
        "nothing", "changed", "blocked", "asked", "answered", "failed", "not asked", "approved",
        "handed on",
    ]
    by: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Attempted(Event):
    """The around `receiver` called the method several times. One event is emitted for each attempt,
    with its `number` from 1 and its outcome, as in `Finished`. The events are emitted together.
    `at` is the time when the attempt ended.
    """

    receiver: str
    number: int
    outcome: str
    seconds: float


@attrs.frozen(kw_only=True, slots=False)
class Mutated(Event):
    """A receiver changed a value from `before` to `after`.

    `name` is the name of the argument, `"result"`, or `"item"` for an item of a stream. `index` is
    the number of the item, from 0. `dropped` means that the consumer does not get the item.
    """

    receiver: str
    name: str
    index: int | None = None
    before: Any = HIDDEN
    after: Any = HIDDEN
    dropped: bool = False


@attrs.frozen(kw_only=True, slots=False)
class Blocked(Event):
    """A receiver blocked the call in a `phase`. In `post` and `item`, the result is withheld.

    Attributes:
        reason: the reason, as a sentence for people.
        code: the reason, as a short identifier for programs.
        details: additional data that only events contain.
        enforced: whether the call was really blocked. It is False for a guard in shadow mode.
        asked: whether a guard in shadow mode would have required approval instead of a block.
    """

    receiver: str
    reason: str
    phase: str
    code: str | None = None
    details: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    enforced: bool = True
    asked: bool = False


@attrs.frozen(kw_only=True, slots=False)
class Failed(Event):
    """A receiver with a `role` failed in a `phase`.

    Attributes:
        exception: the exception of the receiver. `repr` and `as_dict` show only its type and its
            location.
        action: the consequence of the failure: `"isolated"` (the call continued), `"blocked"` or
            `"raised"`.
        enforced: False for a guard in shadow mode, which does not block.
        place: the `file:line` of the receiver.
        message: a description of the failure by hookbus, or None if only the type is known.
    """

    receiver: str
    role: str
    phase: str
    exception: BaseException = attrs.field(repr=_as_type)
    action: Literal["isolated", "blocked", "raised"]
    enforced: bool = True
    place: str | None = None
    message: str | None = None

    def _of_exception(self, error: BaseException) -> dict[str, Any]:
        return {"type": name_of_type(type(error)), "place": self.place}


@attrs.frozen(kw_only=True, slots=False)
class Finished(Event):
    """The call ended. Exactly one `Finished` is emitted for every `Started`.

    Attributes:
        outcome: how the call ended. `returned`: the method's own result, changed or not.
            `replaced`: a receiver provided the result. `blocked`, `raised` and `cancelled`, which
            also applies to a stream that its consumer left. `paused`: the method handed control
            back with an exception of `passes=`.
        seconds: the duration of the call.
        error: the exception of a `raised` or `cancelled` call, or None. `repr` and `as_dict` show
            only its type and its location.
        result: the result that the caller gets, with `values=True`. It is None for a blocked call.
        labels: the same labels as in `Started`.
    """

    outcome: Literal["returned", "replaced", "blocked", "raised", "cancelled", "paused"]
    seconds: float
    error: BaseException | None = attrs.field(default=None, repr=_as_type)
    result: Any = HIDDEN
    labels: Mapping[str, str] = attrs.field(default=NOTHING_AROUND, hash=False)


@attrs.frozen(kw_only=True, slots=False)
class Lost(Event):
    """A weakly referenced receiver was garbage-collected while its sender still exists."""

    _is_of_call = False

    receiver: str


@attrs.frozen(kw_only=True, slots=False)
class Switched(Event):
    """An operator switched a receiver. `hook` is the hook of the receiver's signal. `sender` is the
    sender that the receiver is connected to.

    Attributes:
        receiver: the name of the receiver.
        act: `"disable"` switches the receiver off, `"enable"` switches it on again, and `"shadow"`
            puts it in shadow mode.
        by: the name of the operator.
    """

    _is_of_call = False

    receiver: str
    act: Literal["disable", "enable", "shadow"]
    by: str


@attrs.frozen(kw_only=True, slots=False)
class Reloaded(Event):
    """A guard reloaded its files because they had changed.

    Attributes:
        receiver: the name of the guard.
        problem: the reason why the earlier content remains in force, or None if the new content is
            in force.
    """

    _is_of_call = False

    receiver: str
    problem: str | None = None


new_event: Final[Any] = object.__new__
set_fields: Final[Any] = Event.__dict__["__dict__"].__set__
"""Sets all fields of a new event at once. This is much faster than `__init__`."""


def make_event(kind: type[Event], fields: dict[str, Any]) -> Event:
    """Return an event with these fields. They must be all fields of its class, in their order."""
    event: Event = new_event(kind)
    set_fields(event, fields)
    return event


@functools.cache
def default_fields(kind: type[Event]) -> dict[str, Any]:
    """Return all fields of a kind of event in order, each with its default or None. All calls
    return the same dict, so copy it before you change it.
    """
    factory: Any = attrs.Factory
    fields = {field.name: field.default for field in attrs.fields(kind)}
    for name, default in fields.items():
        if default is attrs.NOTHING or isinstance(default, factory):
            fields[name] = None
    return fields


KINDS: Final[tuple[type[Event], ...]] = (
    Started, Invoked, Mutated, Blocked, Failed, Attempted, Finished, Lost, Switched,
    Reloaded,
)  # fmt: skip
"""Every kind of event. `bus.events.connect(listener, kinds=...)` selects among these classes."""
