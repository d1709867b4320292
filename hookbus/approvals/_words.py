"""What is asked, and what may be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from .. import Block, HookBlocked
from .._keywords import named_options


@attrs.frozen(kw_only=True)
class Request:
    """What somebody is asked to say yes to: one attempt of one call, with these very arguments.

    Attributes:
        id: what an answer names.
        hook: the hook whose call it is.
        sender: whose call it is, in words.
        receiver: the guard that asks; several with commas between.
        question: what it asks, a line for each guard.
        code: its short word for programs, the first that was given.
        details: what it says besides; of several guards by their names.
        arguments: what the method would be called with: a copy, in JSON types.
        digest: what the answer is for; it changes with any of it.
        surrounding: what holds around the call, such as a session and a user.
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
    surrounding: Mapping[str, Any] = attrs.field(factory=dict)
    deadline: float | None = None


@named_options
@attrs.frozen
class Approved:
    """Yes, for one attempt.

    Attributes:
        by: who said so.
        arguments: all arguments as this person edited them, or None: as they are. The guards judge
            what was edited.
        remember: for how many seconds the same call needs no further yes.
    """

    by: str
    arguments: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True)
    remember: float | None = attrs.field(default=None, kw_only=True)


@named_options
@attrs.frozen
class Denied:
    """No.

    Attributes:
        reason: why; the caller, and so perhaps a model, reads it.
        by: who said so.
    """

    reason: str
    by: str | None = None


@named_options
@attrs.frozen
class Parked:
    """Not yet: the call is blocked with `ApprovalPending`, and made again once there is an answer.

    Attributes:
        id: of the request that waits, where it is an earlier one of the same call.
    """

    id: str | None = None


@attrs.frozen(kw_only=True)
class Case:
    """A request, and what became of it.

    Attributes:
        state: `"pending"`, `"approved"`, `"used"`, `"denied"` or `"expired"`.
        answer: what somebody said, or None.
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
