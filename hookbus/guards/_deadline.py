"""Limits the time for scanning untrusted data.

Only the CPU time of the scanning thread counts, so a busy machine does not cause blocked calls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .. import HookError
from .._connections.options import odd_timeout
from .._ground.errors import warn
from .._ground.numbers import is_number

SECONDS: Final = 1.0
"""The default time limit of a guard for one call."""

CHARACTERS_A_SECOND: Final = 2_000_000
"""The minimum speed of a step that cannot be interrupted."""

SHARE: Final = 0.9
"""The share of the limit within which the last step must start, so that it ends within the
limit."""

ITEM_SECONDS: Final = 0.001
CHARACTER_SECONDS: Final = 0.000_002
"""Additional time for each item of a stream, and for each of its characters."""


class Deadline:
    """The time at which a guard stops scanning.

    Args:
        seconds: the limit, from now.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._until = time.thread_time() + seconds * SHARE

    def left(self) -> float:
        """Return the remaining seconds.

        Raises:
            TimeoutError: if no time remains.
        """
        remaining = self._until - time.thread_time()
        if remaining <= 0:
            raise TimeoutError("scanning exceeded its time limit; pass a longer timeout=")
        return remaining

    def take(self, text: str) -> None:
        """Raise TimeoutError if the remaining time is too short for an uninterruptible step."""
        if len(text) > self.left() * CHARACTERS_A_SECOND:
            raise TimeoutError(f"there is not enough time left to scan {len(text)} characters")


class Allowance:
    """The time limit for one call, including its arguments, its result, and any number of stream
    items.

    Args:
        seconds: the limit for the whole call. Each item adds some time, up to this limit.
    """

    def __init__(self, seconds: float) -> None:
        self._most = self._left = seconds

    def add(self, item: Any) -> None:
        """Add time for an item of a stream."""
        length = len(item) if isinstance(item, (str, bytes)) else 0
        more = ITEM_SECONDS + length * CHARACTER_SECONDS
        self._left = min(self._most, self._left + more)

    @contextmanager
    def deadline(self) -> Iterator[Deadline]:
        """Return the deadline for the work in a `with` block."""
        began = time.thread_time()
        try:
            yield Deadline(self._left)
        finally:
            self._left -= time.thread_time() - began


def checked(timeout: Any) -> float:
    """Check a timeout, and return it as a number of seconds.

    Raises:
        HookError: if the timeout is not valid.
    """
    if not is_number(timeout) or not 0 < timeout < math.inf:
        raise HookError(f"timeout={timeout!r:.40} must be a number of seconds greater than 0")
    if odd := odd_timeout(timeout):
        warn(odd)
    return float(timeout)
