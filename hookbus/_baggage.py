"""What holds around a piece of work: session, user, whatever a host wants to find in contexts and
events.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_FIXED: Final = frozenset((str, int, float, bool, type(None)))


class Baggage(Mapping[str, Any]):
    """A mapping that nobody can change. Unlike the one of the standard library it can be pickled.

    Attributes:
        is_fixed: whether none of its values can change, either.
    """

    __slots__ = ("_values", "is_fixed")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.is_fixed: bool = _FIXED.issuperset(map(type, self._values.values()))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


NOTHING_AROUND: Final = Baggage({})

_CURRENT: Final[ContextVar[Baggage]] = ContextVar(
    "hookbus_baggage", default=NOTHING_AROUND
)

_ever_said: Final[set[str]] = set()

MOST_NAMES: Final = 1000
"""The number of names that are remembered."""


def was_ever_said(name: str) -> bool:
    """Tell whether any `baggage` in this program has said a value of this name."""
    return name in _ever_said


current_baggage: Final = _CURRENT.get
"""Return what holds around the running code; a task or thread has what held where its context was
made.
"""


@contextmanager
def baggage(**values: Any) -> Generator[Baggage, None, None]:
    """Say what holds in a `with` block and in whatever it starts; of nested blocks the inner one
    wins.

    Receivers find it in `ctx.baggage`, or ask for `baggage`; listeners in
    `event.baggage`.

    Args:
        values: what holds, by names of yours.

    Yields:
        All that holds in the block.
    """
    outer = _CURRENT.get()
    if len(_ever_said) < MOST_NAMES:
        _ever_said.update(values)
    inner = Baggage({**outer, **values})
    try:
        try:
            _CURRENT.set(inner)
            yield inner
        finally:
            _leave(inner, outer)
    finally:  # an interrupt may have come before that
        _leave(inner, outer)


def _leave(inner: Baggage, outer: Baggage) -> None:
    # Not by a token: a block may be left in another context than it was entered in, as fixtures do.
    if _CURRENT.get() is inner:
        _CURRENT.set(outer)
