"""Frozen records of what happened: all that a listener of `bus.events` is ever given.

A listener is called as `listener(bus, event)`. Values (arguments, results, what a change replaced)
are `HIDDEN` unless the bus was made with `values=True`; exceptions and reasons always are there.
The containers among them are copies made with the event: a later change does not change it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from ._baggage import NOTHING_AROUND, Baggage, current_baggage
from ._plain import copy_containers, name_of_type, place_of_raise, plain


class _Hidden(enum.Enum):
    HIDDEN = "hidden"

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


HIDDEN: Final = _Hidden.HIDDEN
"""Stands in an event where a value would be, on a bus made without `values=True`."""


def _as_type(error: BaseException | None) -> str:
    return "None" if error is None else f"<{name_of_type(type(error))}>"


def copy_baggage() -> Baggage:
    """Return what `hookbus.baggage` said around the running code, as it is now."""
    around = current_baggage()
    return around if around.is_fixed else Baggage(copy_containers(around))


@attrs.frozen(kw_only=True, slots=False)
class Event:
    """What every event says.

    Attributes:
        call_id: the number of the call, unique in this process; 0 where no call is concerned
            (`Lost`, `Switched`).
        parent_id: the number of the observed call this one was made in, else None.
        hook: the name of the hook.
        sender: a description of the sender, never the object itself.
        at: seconds since the epoch, wall clock.
        baggage: what `hookbus.baggage` said around the call.
    """

    call_id: int
    parent_id: int | None
    hook: str
    sender: str
    at: float
    baggage: Mapping[str, Any] = attrs.field(factory=copy_baggage, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return what the event says, made of what JSON has: the name of its class as `event`, then
        its fields.

        What is `HIDDEN` is left out. Of an exception there are its `type` and its `place`,
        `file:line`, never its text. Words such as `<Agent>` stand for other objects, and for what
        is too large.
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
    """A call entered its hook: the names of its arguments, and with `values=True` the arguments.

    Its `labels` are what names a call of the vocabulary: of a tool `name`, `kind`, `call_id` and
    `agent`, of a model `model` and `agent`, of a run `agent`, as far as they are known.
    """

    arguments: tuple[str, ...]
    values: Mapping[str, Any] | _Hidden = HIDDEN
    labels: Mapping[str, str] = attrs.field(default=NOTHING_AROUND, hash=False)


@attrs.frozen(kw_only=True, slots=False)
class Invoked(Event):
    """A receiver had its turn, in its role and phase, and what it said; told only to who names this
    class in `kinds=`.

    The answer is `"nothing"`, `"changed"`, `"blocked"`, `"asked"` (for a yes), `"answered"` (a
    question), `"failed"`, or `"not asked"` where its `when=` did not hold. A guard that asked is
    told once more when somebody said yes: `"approved"`, after so many seconds, and `by` whom.
    """

    receiver: str
    role: str
    phase: str
    seconds: float
    answer: Literal[
        "nothing", "changed", "blocked", "asked", "answered", "failed", "not asked", "approved"
    ]
    by: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Attempted(Event):
    """The around `receiver` ran the method, and not only once: one event for each run, by `number`
    from 1, with its outcome (that of `Finished`). They are told together; `at` is when the run
    ended.
    """

    receiver: str
    number: int
    outcome: str
    seconds: float


@attrs.frozen(kw_only=True, slots=False)
class Mutated(Event):
    """A receiver changed something: from `before` to `after`.

    Its `name` is that of an argument, or `"result"`, or `"item"` of a stream, which `index` counts
    from 0; `dropped` where the item does not reach the consumer.
    """

    receiver: str
    name: str
    index: int | None = None
    before: Any = HIDDEN
    after: Any = HIDDEN
    dropped: bool = False


@attrs.frozen(kw_only=True, slots=False)
class Blocked(Event):
    """A receiver blocked the call in this phase; in `post` and `item` that withholds the result.

    Attributes:
        reason: why, in words.
        code: why, in a short word for programs.
        details: what only records say.
        enforced: whether the call was really blocked; False for a guard in shadow.
    """

    receiver: str
    reason: str
    phase: str
    code: str | None = None
    details: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    enforced: bool = True


@attrs.frozen(kw_only=True, slots=False)
class Failed(Event):
    """A receiver of this role failed in this phase, with this exception.

    Attributes:
        exception: what it failed with. It is for this process alone: in `repr` and `as_dict` there
            are only its type and its place.
        action: what was done about it: `"isolated"` (the call went on), `"blocked"` or `"raised"`.
        enforced: False for a guard in shadow, which stops nothing.
        place: `file:line` of the receiver.
        said: what hookbus says of the failure, where it can say more than a type, else None.
    """

    receiver: str
    role: str
    phase: str
    exception: BaseException = attrs.field(repr=_as_type)
    action: Literal["isolated", "blocked", "raised"]
    enforced: bool = True
    place: str | None = None
    said: str | None = None

    def _of_exception(self, error: BaseException) -> dict[str, Any]:
        return {"type": name_of_type(type(error)), "place": self.place}


@attrs.frozen(kw_only=True, slots=False)
class Finished(Event):
    """The call is over; there is exactly one for every `Started`.

    Attributes:
        outcome: `returned` (the method's own result, changed or not), `replaced` (a receiver gave
            the result), `blocked`, `raised`, `cancelled` (also a stream its consumer left), or
            `paused` (the method handed control back by an exception that `passes=` names).
        seconds: how long the call took.
        error: the exception that goes out of a `raised` or `cancelled` call, else None. It is for
            this process alone, as that of `Failed`.
        result: what the caller gets, with `values=True`.
        labels: those of `Started`.
    """

    outcome: Literal["returned", "replaced", "blocked", "raised", "cancelled", "paused"]
    seconds: float
    error: BaseException | None = attrs.field(default=None, repr=_as_type)
    result: Any = HIDDEN
    labels: Mapping[str, str] = attrs.field(default=NOTHING_AROUND, hash=False)


@attrs.frozen(kw_only=True, slots=False)
class Lost(Event):
    """A weakly held receiver died, other than together with its own sender."""

    receiver: str


@attrs.frozen(kw_only=True, slots=False)
class Switched(Event):
    """An operator switched a receiver. The hook is that of its signal, the sender is what it is
    connected to.

    Attributes:
        receiver: its name.
        act: what was done: it is off, as it was connected, or in shadow.
        by: who did it.
    """

    receiver: str
    act: Literal["disable", "enable", "shadow"]
    by: str


KINDS: Final[tuple[type[Event], ...]] = (
    Started, Invoked, Mutated, Blocked, Failed, Attempted, Finished, Lost, Switched,
)  # fmt: skip
"""Every kind of event, which `bus.events.connect(listener, kinds=...)` chooses from."""
