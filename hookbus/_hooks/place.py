"""Where one call belongs, and how what runs it is kept for the calls like it."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from .._connections.senders import is_class
from .identity import ALL, Line, Run, hold, mro_of

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
        self._first = hook.first_of(values)
        self._own = hook.box_of(self._first[0]) if self._first else None
        # Before anything else is read of them: a plan belongs to the MROs it was made for.
        self._mros = self._now()
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
        by_argument = hook.given.sender is not None
        if not (hook.function_signature.positional or by_argument) or (
            by_argument and type(first) is FunctionType
        ):
            return False  # the first of `*args`, or a function: it is looked up each time
        if not all(hold(*line, hook) for line in self._mros):
            return False
        if any(mro is not now for (_, mro), (_, now) in zip(self._mros, self._now())):
            return False  # a thread or a signal handler has given it another class meanwhile
        (cls, mro), *of_class = self._mros
        if self._own is not None:
            self._own.keep(cls, mro, run)
        elif of_class:
            table.keep_of_class(run, hook._shell.by_class, *self._mros)
        elif hook._own_changed is self._own_changed and not hook.has_own(first):
            if self.site.attribute is None and not by_argument and cls.__flags__ & _HEAP_TYPE:
                run = hook._shell.while_function(run)
            table.keep(cls, mro, run)
        else:
            return False
        return True

    def _now(self) -> list[Line]:
        """Return the class of the first argument, and the one that it is, each with its MRO."""
        classes: list[type] = [type(first) for first in self._first]
        classes += [first for first in self._first if is_class(first)]
        return [(cls, mro_of(cls)) for cls in classes]
