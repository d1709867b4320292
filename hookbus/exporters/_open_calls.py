"""The calls in flight that an exporter keeps track of."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from .._ground.locks import Lock

T = TypeVar("T")

MOST: Final = 10_000
"""The maximum number of calls. If there are more, the oldest is dropped."""


class OpenCalls(Generic[T]):
    """The data that an exporter keeps for each call in flight, by the id of the call."""

    def __init__(self) -> None:
        self._calls: OrderedDict[int, T] = OrderedDict()
        # The garbage collector may run code that makes a recorded call in this thread.
        self._lock = Lock()

    def begin(self, call_id: int, data: T) -> list[T]:
        """Store the data of a call. Return the oldest data that is removed because of the limit, if
        any.
        """
        with self._lock:
            self._calls[call_id] = data
            if len(self._calls) <= MOST:
                return []
            return [self._calls.popitem(last=False)[1]]

    def of(self, call_id: int | None) -> T | None:
        """Return the data of a call, or None."""
        return None if call_id is None else self._calls.get(call_id)

    def end(self, call_id: int) -> T | None:
        """Remove and return the data of a call, or None."""
        with self._lock:
            return self._calls.pop(call_id, None)

    def clear(self) -> list[T]:
        """Remove all data and return it, latest first."""
        with self._lock:
            latest_first = [*reversed(self._calls.values())]
            self._calls.clear()
        return latest_first
