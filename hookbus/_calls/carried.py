"""Handle context variables that listeners of `Started` set for a stream, such as the current span.
The variables apply while the body runs, but not while the consumer runs between two items.

The body runs in the context of its consumer, which may be a different task or thread for each item.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

from .context import ENCLOSING

_UNSET: Final = object()


class Carried:
    """The context variables that listeners have set, with the values of the side that is not
    running.

    Attributes:
        inner: the body's values, while the consumer runs.
        outer: the consumer's values while the body runs, else None.
    """

    def __init__(self, variables: list[ContextVar[Any]], outer: list[Any]) -> None:
        self.variables = variables
        self.inner: list[Any] = []
        self.outer: list[Any] | None = outer


def changes_since(before: Context) -> Carried | None:
    """Return the variables that were set after the context was copied, or None if no variable was
    set.
    """
    set_now = [
        variable for variable, value in copy_context().items()
        if variable is not ENCLOSING and before.get(variable, _UNSET) is not value
    ]  # fmt: skip
    if not set_now:
        return None
    return Carried(set_now, [before.run(_value_of, variable) for variable in set_now])


def leave_context(carried: Carried) -> None:
    """Restore the consumer's values if the body's values are active. After an interrupt, this
    function may be called twice. The second call does nothing.
    """
    if carried.outer is not None:
        carried.inner = [_value_of(variable) for variable in carried.variables]
        for variable, value in zip(carried.variables, carried.outer, strict=True):
            if value is not _UNSET:  # a variable without a default cannot be unset
                variable.set(value)
        carried.outer = None


def enter_context(carried: Carried) -> None:
    """Restore the body's values, and save the values of the current consumer."""
    carried.outer = [_value_of(variable) for variable in carried.variables]
    for variable, value in zip(carried.variables, carried.inner, strict=True):
        if value is not _UNSET:
            variable.set(value)


def _value_of(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return _UNSET
