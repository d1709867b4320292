"""Baggage: values such as a session or a user for a block of code. Calls and events carry these
values.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_FIXED: Final = frozenset((str, int, float, bool, type(None)))


class Baggage(Mapping[str, Any]):
    """An immutable mapping. Unlike `types.MappingProxyType`, it can be pickled.

    Attributes:
        is_fixed: whether the values are also immutable.
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
"""The maximum number of names to record."""


def was_ever_said(name: str) -> bool:
    """Return whether any `baggage` block in this program has set a value with this name."""
    return name in _ever_said


current_baggage: Final = _CURRENT.get
"""Return the baggage of the running code. A task or thread has the baggage of the code that created
its context.
"""


@contextmanager
def baggage(**values: Any) -> Generator[Baggage, None, None]:
    """Attach values (baggage) to a `with` block and to all code that the block calls or starts. In
    nested blocks, the inner value wins.

    Receivers read the values from `ctx.baggage` or from a parameter `baggage`. Listeners read them
    from `event.baggage`.

    Args:
        values: the values, as keyword arguments with names that you choose.

    Yields:
        All values that apply in the block.
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
    finally:  # an interrupt may have arrived before this
        _leave(inner, outer)


def _leave(inner: Baggage, outer: Baggage) -> None:
    # No token is used, because a block may be exited in another context, as in pytest fixtures.
    if _CURRENT.get() is inner:
        _CURRENT.set(outer)
