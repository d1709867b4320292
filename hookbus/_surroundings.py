"""What holds around a piece of work: session, user, whatever a host wants to find in contexts and
events.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final


class Surrounding(Mapping[str, Any]):
    """A mapping that nobody can change. Unlike the one of the standard library it can be pickled.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


NOTHING_AROUND: Final = Surrounding({})

_CURRENT: Final[ContextVar[Mapping[str, Any]]] = ContextVar(
    "hookbus_surrounding", default=NOTHING_AROUND
)

current_surrounding: Final = _CURRENT.get
"""Return what holds around the running code; a task or thread has what held where its context was
made.
"""


@contextmanager
def surrounding(**values: Any) -> Generator[Mapping[str, Any], None, None]:
    """Say what holds in a `with` block and in whatever it starts; of nested blocks the inner one
    wins.

    Receivers find it in `ctx.surrounding`, or ask for `surrounding`; listeners in
    `event.surrounding`.

    Args:
        values: what holds, by names of yours.

    Yields:
        All that holds in the block.
    """
    outer = _CURRENT.get()
    inner = Surrounding({**outer, **values})
    try:
        try:
            _CURRENT.set(inner)
            yield inner
        finally:
            _leave(inner, outer)
    finally:  # an interrupt may have come before that
        _leave(inner, outer)


def _leave(inner: Surrounding, outer: Mapping[str, Any]) -> None:
    # Not by a token: a block may be left in another context than it was entered in, as fixtures do.
    if _CURRENT.get() is inner:
        _CURRENT.set(outer)
