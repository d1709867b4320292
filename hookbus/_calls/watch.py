"""A watch over the first turns of a plain receiver of an async hook, which could block the event
loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from .._connections.receiver import Connected

WATCHED: Final = 8
"""The number of calls that are timed, of each plan; then its text calls the receiver directly."""


def watching(
    receiver: Connected, function: Callable[..., Any]
) -> tuple[Callable[..., Any], list[bool]]:
    """Return what calls a function and notes how long that took, and a list that is empty until it
    has done so often enough.
    """
    over: list[bool] = []
    turns: list[None] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            receiver.note_turn(time.perf_counter() - began)
            turns.append(None)
            if len(turns) >= WATCHED:
                over.append(True)

    return watched, over
