"""Context variables that listeners of `Started` set for a stream, such as the current span. They
apply while the body runs, and not to its reader between two items.

The body runs in the context of its reader, which may be another task or thread for each item.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

from .context import ENCLOSING

_UNSET: Final = object()


class Carried:
    """The context variables that listeners have set, and their values on the other side.

    Attributes:
        inner: the values of the body, while the reader runs.
        outer: the values of the reader, while the body runs; else None.
    """

    def __init__(self, variables: list[ContextVar[Any]], outer: list[Any]) -> None:
        self.variables = variables
        self.inner: list[Any] = []
        self.outer: list[Any] | None = outer


def changes_since(before: Context) -> Carried | None:
    """Return what has been set since a copy of the context was made, or None."""
    set_now = [
        variable for variable, value in copy_context().items()
        if variable is not ENCLOSING and before.get(variable, _UNSET) is not value
    ]  # fmt: skip
    if not set_now:
        return None
    return Carried(set_now, [before.run(_value_of, variable) for variable in set_now])


def leave_context(carried: Carried) -> None:
    """Restore the reader's own values, if the body had others. After an interrupt, this may be
    called a second time.
    """
    if carried.outer is not None:
        carried.inner = [_value_of(variable) for variable in carried.variables]
        for variable, value in zip(carried.variables, carried.outer, strict=True):
            if value is not _UNSET:  # a variable without a default cannot be unset
                variable.set(value)
        carried.outer = None


def enter_context(carried: Carried) -> None:
    """Restore the body's values, and save those of the current reader."""
    carried.outer = [_value_of(variable) for variable in carried.variables]
    for variable, value in zip(carried.variables, carried.inner, strict=True):
        if value is not _UNSET:
            variable.set(value)


def _value_of(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return _UNSET
