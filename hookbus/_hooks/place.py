"""Where one call belongs, and how what runs it is kept for the calls like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .identity import ALL, Run

if TYPE_CHECKING:
    from .hook import Hook

_HEAP_TYPE: Final = 1 << 9
"""Of a class written in Python, which may be given another attribute at any time."""


class Place:
    """Where one call belongs, taken down before its plan is made, so that a plan is never kept that
    came too late.

    Attributes:
        site: what the hookable is for it.
        sender: the sender of the call.
    """

    def __init__(self, hook: Hook, values: tuple[Any, ...]) -> None:
        self._hook, self._own_changed, self._table = hook, hook._own_changed, hook.table
        self._table.is_used = True
        self._first = hook.function_signature.first_of(values)
        self._own = hook.fill(self._first[0]) if self._first else None
        self.site, self.sender = hook.locate(values)

    def keep(self, run: Run) -> bool:
        """Have `run` run the calls like this one, until who is connected changes; False where that
        cannot be.
        """
        hook, table = self._hook, self._table
        if not self._first:
            table[ALL] = run
            return True
        (first,) = self._first
        if not hook.function_signature.positional:
            return False  # the first of `*args`: it is looked up each time
        cls = type(first)
        if self._own is not None:
            self._own.keep(cls, run)
        elif isinstance(first, type):
            table.keep_of_class(first, run, hook._shell.by_class)
        elif hook._own_changed is self._own_changed and not hook.has_own(first):
            if self.site.attribute is None and cls.__flags__ & _HEAP_TYPE:
                run = hook._shell.while_function(run)
            table.keep(cls, run)
        else:
            return False
        return True
