"""What is asked, and what may be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from .. import Block, HookBlocked, HookError
from .._keywords import named_options


@attrs.frozen(kw_only=True)
class Request:
    """What somebody is asked to say yes to: one attempt of one call, with these very arguments.

    Attributes:
        id: what an answer names.
        hook: the hook whose call it is.
        sender: whose call it is, in words, and what `hookable(identity=...)` calls it.
        receiver: the guard that asks; several with commas between.
        question: what it asks, a line for each guard.
        code: its short word for programs, the first that was given.
        details: what it says besides; of several guards by their names.
        arguments: what the method would be called with: a copy, in JSON types, of which the
            redactors of the bus have taken out what nobody is to see, as of the question and
            whatever else is shown.
        digest: what the answer is for: the hook, the sender, who asks what, the real arguments and
            the bound baggage. It is keyed, and tells nobody any of it.
        bound: the part of the baggage that the approval is for: nobody else's call may use it.
        baggage: what holds around the call, such as a session and a user.
        deadline: until when there is time to answer, in seconds since 1970; None is no end.
    """

    id: str
    hook: str
    sender: str
    receiver: str
    question: str
    code: str | None = None
    details: Mapping[str, Any] | None = None
    arguments: Mapping[str, Any]
    digest: str
    bound: Mapping[str, Any] = attrs.field(factory=dict)
    baggage: Mapping[str, Any] = attrs.field(factory=dict)
    deadline: float | None = None


@named_options
@attrs.frozen
class Approved:
    """An approval of one attempt.

    Attributes:
        by: who approves, a name that is not empty.
        arguments: all arguments as this person edited them, or None: as they are. The guards judge
            what was edited. A placeholder that stands where it stood is the value it was shown for.
        remember: for how many seconds this digest, so this principal's same call, needs no other.
    """

    by: str
    arguments: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True)
    remember: float | None = attrs.field(default=None, kw_only=True)


@named_options
@attrs.frozen
class Denied:
    """A denial.

    Attributes:
        by: who denies, a name that is not empty.
        reason: why; the caller, and so perhaps a model, reads it.
    """

    by: str
    reason: str


@attrs.frozen
class Kept(Approved):
    """An approval that was there already when a call asked for one, or came while it waited for a
    store.

    Attributes:
        shown: the arguments as the person saw them.
        is_waited_for: whether the call waited, so that guards judge it once more.
    """

    shown: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    is_waited_for: bool = attrs.field(default=False, kw_only=True)

    @classmethod
    def of(cls, answer: Approved, shown: Mapping[str, Any]) -> Kept:
        return cls(
            answer.by, arguments=answer.arguments, remember=answer.remember, shown=shown
        )  # fmt: skip


class UnknownRequest(HookError):
    """No request has the id that an answer names."""


class AlreadyAnswered(HookError):
    """The request has its answer, and the first one is final."""


class RequestExpired(HookError):
    """The time to answer the request is over."""


@named_options
@attrs.frozen
class Parked:
    """Not yet: the call is blocked with `ApprovalPending`, and made again once there is an answer.

    Attributes:
        id: of the request that waits, where it is an earlier one of the same call.
    """

    id: str | None = None


@attrs.frozen(kw_only=True)
class ApprovalRecord:
    """A request, and what became of it.

    Attributes:
        state: `"pending"`, `"approved"`, `"used"`, `"denied"` or `"expired"`: the answer no longer
            holds, or nobody gave one in time.
        answer: what a person answered, or None.
        asked: when, in seconds since 1970; so are the others, None where it has not been.
        until: when the answer ends.
    """

    request: Request
    state: str
    answer: Approved | Denied | None = None
    asked: float
    answered: float | None = None
    until: float | None = None
    used: float | None = None


class ApprovalPending(HookBlocked):
    """The call waits for somebody's yes: make the same call again once it is there."""

    @property
    def id(self) -> str:
        """What an answer names."""
        found: str = self.verdict.id
        return found


@attrs.frozen
class Pending(Block):
    """The block of a call that waits for a yes."""

    raises: ClassVar[type[HookBlocked]] = ApprovalPending
    id: str = attrs.field(default="", kw_only=True)
