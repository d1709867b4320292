"""The verdicts that a receiver can return. A receiver must return an instance, never the class
itself.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import attrs

from .._ground.keywords import named_options
from ..exceptions import HookBlocked, HookError


class _Nothing(enum.Enum):
    NOTHING = "nothing"

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final[Any] = _Nothing.NOTHING
"""Means "not given" where None is a valid value. A copy or pickle of it is the same object."""


@named_options
@attrs.frozen(slots=False)  # without slots, `__init__` fills `__dict__` in half the time
class Block:
    """A verdict: this call must not run, or its result must not be returned.

    Attributes:
        reason: the reason. The caller, and possibly a model, can read it.
        result: the value that the caller gets instead of `HookBlocked`. The call is still reported
            as blocked.
        code: a short identifier for programs.
        details: additional data for events and journals. Messages never contain this data.
        raises: the class of the exception that the caller gets if there is no `result`. Subclasses
            can change it.
    """

    raises: ClassVar[type[HookBlocked]] = HookBlocked
    reason: str
    result: Any = attrs.field(default=NOTHING, kw_only=True)
    code: str | None = attrs.field(default=None, kw_only=True)
    details: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, repr=False)


def _names(bind: Any) -> tuple[str, ...] | None:
    if bind is None:
        return None
    is_several = isinstance(bind, Iterable) and not isinstance(bind, str)
    names: tuple[Any, ...] = tuple(bind) if is_several else (None,)
    if not all(isinstance(name, str) for name in names):
        example = bind if isinstance(bind, str) else "user"
        raise HookError(
            f"Ask(bind={bind!r:.60}): bind= takes the names of baggage values, for which "
            f"the approval is valid; write bind=({example!r},)"
        )
    return names


def _roles(roles: Any) -> tuple[str, ...]:
    is_several = isinstance(roles, Iterable) and not isinstance(roles, str)
    names: tuple[Any, ...] = tuple(roles) if is_several else (None,)
    if not all(type(name) is str and name.strip() for name in names):
        example = roles if isinstance(roles, str) else "finance"
        raise HookError(
            f"Ask(roles={roles!r:.60}): roles= takes the names of roles, one of which each "
            f"approver must have; write roles=({example!r},)"
        )
    return names


def _count(approvals: Any) -> int:
    if type(approvals) is not int or approvals < 1:
        raise HookError(
            f"Ask(approvals={approvals!r:.60}): approvals= takes the number of different people "
            "that must approve the call; write approvals=2"
        )
    return approvals


@named_options
@attrs.frozen
class Ask:
    """A verdict of a `pre` guard: this call requires approval. Without an approver, the call is
    blocked.

    Attributes:
        question: the question for the approver, such as `"pay 500 to Ada?"`. The approval is valid
            only for this question.
        code: a short identifier for programs. The approval is valid only for this code.
        details: additional data for the approver, for events and for journals. Messages never
            contain this data.
        bind: the names of the baggage values that the approval is bound to. `bind=("user",)` covers
            equal calls of this user in any session. `bind=()` covers equal calls of any user. None
            means all values in the baggage.
        roles: the names of roles. Each approver must have one of these roles in the people of the
            `approvals.Store`.
        approvals: the number of different people that must approve the call. With `roles` or
            several approvals, the user of the call cannot approve it, and each approver's name must
            be proven.

    Raises:
        HookError: if `bind` or `roles` is not a sequence of names, or if `approvals` is not a valid
            number.
    """

    question: str
    code: str | None = attrs.field(default=None, kw_only=True)
    details: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, repr=False)
    bind: Iterable[str] | None = attrs.field(default=None, kw_only=True, converter=_names)
    roles: Iterable[str] = attrs.field(default=(), kw_only=True, converter=_roles)
    approvals: int = attrs.field(default=1, kw_only=True, converter=_count)


@named_options
@attrs.frozen
class Replace:
    """A verdict: the caller gets this result. In `pre`, the method does not run. In `error`, the
    call recovers.

    For a stream, `pre` and `error` require an iterable of items.
    """

    result: Any


@named_options
@attrs.frozen
class Drop:
    """A verdict of an `item` receiver: the consumer does not get this item of the stream."""


VERDICTS: Final = (Ask, Block, Replace, Drop)
