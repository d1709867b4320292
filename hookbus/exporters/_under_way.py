"""The calls that have begun and not ended yet, as far as an exporter remembers them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from .._locks import Lock

T = TypeVar("T")

MOST: Final = 10_000
"""So many calls are remembered; then the one that began first is forgotten."""


class UnderWay(Generic[T]):
    """What an exporter keeps of each call from its beginning to its end, by the call's number."""

    def __init__(self) -> None:
        self._calls: OrderedDict[int, T] = OrderedDict()
        # What is collected meanwhile may make a call that is told.
        self._lock = Lock()

    def begin(self, call_id: int, kept: T) -> list[T]:
        """Keep something of a call, and return what is kept no more instead."""
        with self._lock:
            self._calls[call_id] = kept
            if len(self._calls) <= MOST:
                return []
            return [self._calls.popitem(last=False)[1]]

    def of(self, call_id: int | None) -> T | None:
        """Return what is kept of a call, or None."""
        return None if call_id is None else self._calls.get(call_id)

    def end(self, call_id: int) -> T | None:
        """Return what was kept of a call, or None, and keep it no more."""
        with self._lock:
            return self._calls.pop(call_id, None)

    def clear(self) -> list[T]:
        """Keep nothing more, and return what was kept, the latest first."""
        with self._lock:
            kept = [*reversed(self._calls.values())]
            self._calls.clear()
        return kept
