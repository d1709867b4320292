"""The types of requests and of their answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import attrs

from .. import Block, HookBlocked, HookError
from .._ground.keywords import named_options
from ._required import Required, read_required


@attrs.frozen(kw_only=True)
class Request:
    """A request to approve one attempt of one call, with exactly these arguments.

    Attributes:
        id: the id of the request, for the answer.
        hook: the hook whose call requires approval.
        sender: a description of the sender, with its `hookable(identity=...)`.
        receiver: the guard that requires the approval; several names are separated by commas.
        question: the question, with one line for each guard.
        code: a short identifier for programs: the first code that a guard gave.
        details: the details that the guard gave. With several guards, a mapping from their names to
            their details.
        arguments: a copy of the arguments that the method would get, in JSON types. The arguments,
            the question and all other visible fields are redacted by the redactors of the bus.
        digest: a keyed hash of the values that the answer covers: the hook, the sender, the guards
            and their questions, the unredacted arguments and the bound baggage. Without the key,
            the hash does not reveal these values.
        bound: the part of the baggage to which the approval is bound. A call with other values
            cannot use the approval.
        baggage: all baggage of the call, such as the session and the user.
        deadline: when the request expires, in seconds since 1970. None means never.
        required: for each guard with `Ask(roles=..., approvals=...)`, its name as `receiver`, its
            `roles` and its `approvals`.
        asker: a keyed hash of the user of the call, who may not approve it, or "". It is set only
            if `required` is not empty.
        scope: a keyed hash of everything that a `Rule` for this request covers, or "" if rules are
            not possible.
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
    required: tuple[Required, ...] = attrs.field(default=(), converter=read_required)
    asker: str = ""
    scope: str = ""


@attrs.frozen
class Between:
    """A pattern of a `Rule`: a number from `low` to `high`.

    Raises:
        HookError: if the limits are not numbers in this order, or if both are infinite.
    """

    low: float
    high: float

    def __attrs_post_init__(self) -> None:
        if not all(type(each) in (int, float) for each in (self.low, self.high)):
            raise HookError(f"{self} must have two numbers")
        if not self.low <= self.high:
            raise HookError(f"{self}: write the lower number first")
        if math.isinf(self.low) and math.isinf(self.high):
            raise HookError(f"{self} has no limit: write at least one finite number")


@named_options
@attrs.frozen
class Rule:
    """A standing approval: later calls to the same tool, for the same user and the same bound
    baggage, are approved if all their arguments match. The guard must ask with the same `code`, but
    the text of its question may differ.

    Attributes:
        arguments: a pattern for every argument. In a string, `*` stands for any characters on one
            line, and `[*]` for an asterisk. A `Between` matches numbers. Any other value matches
            only itself.
        uses: the number of calls that the rule approves; None for any number.
        seconds: how long the rule is valid; None for no limit. Either `uses` or `seconds` is
            required.

    Raises:
        HookError: if the rule has no limit, or a limit is not valid.
    """

    arguments: Mapping[str, Any]
    uses: int | None = attrs.field(default=None, kw_only=True)
    seconds: float | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.arguments, Mapping):
            raise HookError(f"Rule({self.arguments!r:.40}) needs a mapping of names to patterns")
        if self.uses is None and self.seconds is None:
            raise HookError("a Rule needs a limit: pass uses= or seconds=")
        if self.uses is not None and (type(self.uses) is not int or self.uses < 1):
            raise HookError(f"Rule(uses={self.uses!r:.40}) must be a number of calls")
        is_number = type(self.seconds) in (int, float, type(None))
        if not is_number or (self.seconds is not None and not 0 < self.seconds < 1e10):
            raise HookError(f"Rule(seconds={self.seconds!r:.40}) must be a number of seconds")


@named_options
@attrs.frozen
class Approved:
    """An approval of one attempt.

    Attributes:
        by: the name of the approver, a non-empty string.
        arguments: all arguments after the approver's edit, or None for no change. The guards check
            the edited call. An unchanged placeholder stands for the value that it replaced.
        remember: the number of seconds for which the same call with the same bound baggage does not
            need a new approval.
        rule: a standing approval for later calls of this kind. Only a `Store` and the approvals of
            a fleet keep rules, and only for a proven name.
    """

    by: str
    arguments: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True)
    remember: float | None = attrs.field(default=None, kw_only=True)
    rule: Rule | None = attrs.field(default=None, kw_only=True)


class HandedOn(Approved):
    """The approval of a call that was handed on to another program, which asked its own user."""


@named_options
@attrs.frozen
class Denied:
    """A denial of one attempt.

    Attributes:
        by: the name of the approver, a non-empty string.
        reason: the reason, which is shown to the caller and possibly to a model.
    """

    by: str
    reason: str


@attrs.frozen
class Kept(Approved):
    """An approval that existed before the call required it, or that arrived while the call waited
    for a store.

    Attributes:
        shown: the arguments as the approver saw them.
        is_waited_for: whether the call waited, so that the guards must check the call again.
    """

    shown: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    is_waited_for: bool = attrs.field(default=False, kw_only=True)

    @classmethod
    def of(cls, answer: Approved, shown: Mapping[str, Any]) -> Kept:
        return cls(
            answer.by, arguments=answer.arguments, remember=answer.remember, shown=shown
        )  # fmt: skip


class Approver(Protocol):
    """The interface of a store of requests for `bus.approver`, such as a store in your own
    database.

    Attributes:
        name: the name of the store in events and errors.
        key: a secret of at least 32 bytes, which is the same in all processes that answer the
            requests.
        program: the name that replaces `__main__` in the digest of an approval. None means the path
            of the program's file.
    """

    name: str
    key: bytes
    program: str | None

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for a call, which cannot be used again, or keep the request and return
        `Parked`.

        Raises:
            HookError: if the store cannot be used. In this case, the call is blocked.
        """
        ...

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Like `ask`, but without blocking the event loop."""
        ...


class UnknownRequest(HookError):
    """The inbox or store has no request with that id."""


class AlreadyAnswered(HookError):
    """The request already has an answer, and the first answer is final."""


class RequestExpired(HookError):
    """The time to answer the request has passed."""


@named_options
@attrs.frozen
class Parked:
    """The request has not been answered yet. The call is blocked with `ApprovalPending`; repeat the
    call after the approval.

    Attributes:
        id: the id of an earlier request of the same call that is still pending.
    """

    id: str | None = None


@attrs.frozen(kw_only=True)
class ApprovalRecord:
    """A request and its outcome.

    Attributes:
        state: `"pending"`, `"approved"`, `"used"`, `"denied"` or `"expired"`. A request expires
            when its answer is no longer valid, or when it was not answered in time.
        answer: the answer of a person, or None.
        asked: the time when the request was made, in seconds since 1970.
        answered: the time when the request was answered, or None.
        until: the time when the answer expires, or None.
        used: the time when a call used the answer, or None.
        approved_by: the people who have approved a request that needs several approvals or a role.
        missing: the missing approvals of such a request, such as `"1 approval by a person with the
            role finance"`.
    """

    request: Request
    state: str
    answer: Approved | Denied | None = None
    asked: float
    answered: float | None = None
    until: float | None = None
    used: float | None = None
    approved_by: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class ApprovalPending(HookBlocked):
    """The call requires an approval that has not been given yet. Make the same call again after the
    approval."""

    @property
    def id(self) -> str:
        """The id of the request, for the answer."""
        found: str = self.verdict.id
        return found


@attrs.frozen
class Pending(Block):
    """The `Block` of a call that has no approval yet."""

    raises: ClassVar[type[HookBlocked]] = ApprovalPending
    id: str = attrs.field(default="", kw_only=True)
