"""Frozen records of what happened: all that a listener of `bus.events` is ever given.

A listener is called as `listener(bus, event=event)`. Values (arguments, results, what a change replaced) are `HIDDEN`
unless the bus was made with `values=True`; exceptions and reasons always are there.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs


class _Hidden(enum.Enum):
    HIDDEN = "hidden"

    def __repr__(self) -> str:
        return "<hidden>"

    __str__ = __repr__


HIDDEN: Final = _Hidden.HIDDEN
"""Stands in an event where a value would be, on a bus made without `values=True`."""


def current_surrounding():
    return {}


@attrs.frozen(kw_only=True)
class Event:
    """What every event says.

    Attributes:
        call_id: the number of the call, unique in this process; 0 where no call is concerned (`Lost`).
        parent_id: the number of the observed call this one was made in, else None.
        hook: the name of the hook.
        sender: a description of the sender, never the object itself.
        at: seconds since the epoch, wall clock.
    """

    call_id: int
    parent_id: int | None
    hook: str
    sender: str
    at: float
    surrounding: Mapping[str, Any] = {}


@attrs.frozen(kw_only=True)
class Started(Event):
    """A call entered its hook: the names of its arguments, and with `values=True` the arguments."""

    arguments: tuple[str, ...]
    values: Mapping[str, Any] | _Hidden = HIDDEN


@attrs.frozen(kw_only=True)
class Mutated(Event):
    """A receiver changed an argument (`name` is the argument's), the `"result"`, or an `"item"`: from `before` to `after`."""

    receiver: str
    name: str
    index: int | None = None
    before: Any = HIDDEN
    after: Any = HIDDEN


@attrs.frozen(kw_only=True)
class Blocked(Event):
    """A receiver blocked the call in this phase, and its reason; in `post` and `item` that withholds the result."""

    receiver: str
    reason: str
    phase: str
    code: str | None = None
    details: Any = None


@attrs.frozen(kw_only=True)
class Failed(Event):
    """A receiver of this role failed in this phase, with this exception.

    The action is what was done about it: `"isolated"` (the call went on), `"blocked"` or `"raised"`.
    """

    receiver: str
    role: str
    phase: str
    exception: BaseException
    action: Literal["isolated", "blocked", "raised"]


@attrs.frozen(kw_only=True)
class Finished(Event):
    """The call is over; there is exactly one for every `Started`.

    Attributes:
        outcome: `returned` (the method's own result, changed or not), `replaced` (a receiver gave the result), `blocked`,
            `raised`, or `cancelled` (also a stream its consumer left).
        seconds: how long the call took.
        error: the exception that goes out of a `raised` or `cancelled` call, else None.
        result: what the caller gets, with `values=True`.
    """

    outcome: Literal["returned", "replaced", "blocked", "raised", "cancelled"]
    seconds: float
    error: BaseException | None = None
    result: Any = HIDDEN


@attrs.frozen(kw_only=True)
class Lost(Event):
    """A weakly held receiver died, other than together with its own sender."""

    receiver: str


@attrs.frozen(kw_only=True)
class Asked(Event):
    receiver: str
    role: str
    phase: str
    seconds: float
    answer: str


@attrs.frozen(kw_only=True)
class Attempted(Event):
    receiver: str
    number: int
    outcome: str
    seconds: float
