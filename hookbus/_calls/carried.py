"""What listeners of `Started` set in the context of a stream, such as the current span: it holds
while the body runs, and not for the reader between two items.

The body runs in the context of whoever reads, which may be another task or thread for each item.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

from .context import ENCLOSING

_UNSET: Final = object()


class Carried:
    """The context variables that listeners have set, and their values on the other side.

    Attributes:
        inner: the values in the body, while the reader runs.
        outer: the values of the reader, while the body runs, else None.
    """

    def __init__(self, variables: list[ContextVar[Any]], outer: list[Any]) -> None:
        self.variables = variables
        self.inner: list[Any] = []
        self.outer: list[Any] | None = outer


def changes_since(before: Context) -> Carried | None:
    """Return what has been set since a copy of the context was made, None where nothing was."""
    set_now = [
        variable for variable, value in copy_context().items()
        if variable is not ENCLOSING and before.get(variable, _UNSET) is not value
    ]  # fmt: skip
    if not set_now:
        return None
    return Carried(set_now, [before.run(_value_of, variable) for variable in set_now])


def leave_context(carried: Carried) -> None:
    """Give the reader its own values back, if the body had others; an interrupt may have this
    called once more.
    """
    if carried.outer is not None:
        carried.inner = [_value_of(variable) for variable in carried.variables]
        for variable, value in zip(carried.variables, carried.outer, strict=True):
            if value is not _UNSET:  # one without a default cannot be taken back
                variable.set(value)
        carried.outer = None


def enter_context(carried: Carried) -> None:
    """Give the body its own values back, and remember those of whoever reads now."""
    carried.outer = [_value_of(variable) for variable in carried.variables]
    for variable, value in zip(carried.variables, carried.inner, strict=True):
        if value is not _UNSET:
            variable.set(value)


def _value_of(variable: ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return _UNSET
