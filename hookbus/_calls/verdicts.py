"""What a receiver may answer besides a value: the verdicts, always instances, never the class
itself.
"""

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
"""Marks "not given" where None is a value like any other. A copy or a pickle of it is itself."""


@named_options
@attrs.frozen
class Block:
    """A receiver's verdict: this call must not run, or its result must not leave.

    Attributes:
        reason: why; the caller, and so perhaps a model, reads it.
        result: what the caller gets instead of `HookBlocked`; the call stays blocked.
        code: a short word for programs.
        details: what is for records only; it is never in a text.
        raises: the class of what its caller gets otherwise, of all blocks of a class.
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
            f"Ask(bind={bind!r:.60}): name what of the baggage the approval is for: "
            f"bind=({example!r},)"
        )
    return names


@named_options
@attrs.frozen
class Ask:
    """A guard's answer of `pre`: a person must approve this call. Without an approver it is
    blocked.

    Attributes:
        question: what the person reads, such as `"pay 500 to Ada?"`; the approval is for it, too.
        code: a short word for programs, likewise.
        details: what is for the person and for records only; it is never in a text.
        bind: names of the baggage that the approval is for: `bind=("user",)` is for this user's
            identical calls in any session, `bind=()` for anybody's. None is all of the baggage.

    Raises:
        HookError: if `bind` is not names.
    """

    question: str
    code: str | None = attrs.field(default=None, kw_only=True)
    details: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, repr=False)
    bind: Iterable[str] | None = attrs.field(default=None, kw_only=True, converter=_names)


@named_options
@attrs.frozen
class Replace:
    """A receiver's verdict: this is the result. In `pre` the method is not run, in `error` the call
    is rescued.

    For a stream, `pre` and `error` take an iterable of items.
    """

    result: Any


@named_options
@attrs.frozen
class Drop:
    """An `item` receiver's verdict: this item of the stream does not reach the consumer."""


VERDICTS: Final = (Ask, Block, Replace, Drop)
