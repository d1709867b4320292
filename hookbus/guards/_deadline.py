"""How long a guard may look at what strangers wrote.

It is the time that its thread computes: a busy machine blocks no call, and what other threads do
meanwhile does not count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .. import HookError
from .._connections.options import odd_timeout
from ..exceptions import warn

SECONDS: Final = 1.0
"""For so long a guard looks at one call, unless it is told otherwise."""

CHARACTERS_A_SECOND: Final = 2_000_000
"""A step that nothing can interrupt does at least so many."""

SHARE: Final = 0.9
"""The last step begins within so much of the time, and so ends within all of it."""

ITEM_SECONDS: Final = 0.001
CHARACTER_SECONDS: Final = 0.000_002
"""An item of a stream, and each of its characters, may take so much longer."""


class Deadline:
    """The moment from which on a guard looks no further.

    Args:
        seconds: from now.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._until = time.thread_time() + seconds * SHARE

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TimeoutError: if there are none.
        """
        left = self._until - time.thread_time()
        if left <= 0:
            raise TimeoutError("it takes too long to look through; timeout= says how long it may")
        return left

    def take(self, text: str) -> None:
        """Raise TimeoutError unless there is time for a step over a text, which nothing stops."""
        if len(text) > self.left() * CHARACTERS_A_SECOND:
            raise TimeoutError(f"{len(text)} characters are too many for the time that is left")


class Allowance:
    """The seconds for one call, which has arguments, a result, and perhaps many items.

    Args:
        seconds: for all of it; each item brings some more, and never more than this in all.
    """

    def __init__(self, seconds: float) -> None:
        self._most = self._left = seconds

    def add(self, item: Any) -> None:
        """Take in an item of a stream."""
        length = len(item) if isinstance(item, (str, bytes)) else 0
        more = ITEM_SECONDS + length * CHARACTER_SECONDS
        self._left = min(self._most, self._left + more)

    @contextmanager
    def deadline(self) -> Iterator[Deadline]:
        """Give the deadline of what is looked at in a `with` block."""
        began = time.thread_time()
        try:
            yield Deadline(self._left)
        finally:
            self._left -= time.thread_time() - began


def checked(timeout: Any) -> float:
    """Return a number of seconds.

    Raises:
        HookError: if it is none.
    """
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < math.inf:
        raise HookError(f"timeout={timeout!r:.40} must be a number of seconds above 0")
    if odd := odd_timeout(timeout):
        warn(odd)
    return float(timeout)
