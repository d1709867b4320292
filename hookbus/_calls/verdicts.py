"""The verdicts that a receiver may return: always instances, never the class itself."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import attrs

from .._keywords import named_options
from ..exceptions import HookBlocked, HookError


class _Nothing(enum.Enum):
    NOTHING = "nothing"

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final[Any] = _Nothing.NOTHING
"""Means "not given" where None is a valid value. A copy or pickle of it is the same object."""


@named_options
@attrs.frozen
class Block:
    """A verdict: this call must not run, or its result must not be returned.

    Attributes:
        reason: why; the caller reads it, and so may a model.
        result: what the caller gets instead of `HookBlocked`; the call stays blocked.
        code: a short identifier for programs.
        details: additional data for records only; it is never in a message.
        raises: the class of the exception that the caller gets otherwise, set per class of block.
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
            f"Ask(bind={bind!r:.60}): bind= takes the names of baggage that the approval is for; "
            f"write bind=({example!r},)"
        )
    return names


@named_options
@attrs.frozen
class Ask:
    """An answer of a guard of `pre`: this call requires approval. Without an approver it is
    blocked.

    Attributes:
        question: what the approver reads, such as `"pay 500 to Ada?"`. The approval is only for
            this question.
        code: a short identifier for programs; the approval is only for this code.
        details: additional data for the approver and for records; it is never in a message.
        bind: names of the baggage that the approval is for. `bind=("user",)` covers identical calls
            of this user in any session, `bind=()` those of any user. None means all of the baggage.

    Raises:
        HookError: if `bind` is not a sequence of names.
    """

    question: str
    code: str | None = attrs.field(default=None, kw_only=True)
    details: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, repr=False)
    bind: Iterable[str] | None = attrs.field(default=None, kw_only=True, converter=_names)


@named_options
@attrs.frozen
class Replace:
    """A verdict: this is the result. In `pre` the method is not run; in `error` the call is
    rescued.

    For a stream, `pre` and `error` take an iterable of items.
    """

    result: Any


@named_options
@attrs.frozen
class Drop:
    """A verdict of an `item` receiver: this item of the stream does not reach the consumer."""


VERDICTS: Final = (Ask, Block, Replace, Drop)
