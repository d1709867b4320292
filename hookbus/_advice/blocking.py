"""Time the first calls of receivers that could block an event loop, for `report`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from .._connections.receiver import Connected

WATCHED: Final = 8
"""The number of calls to time in each plan. After that, the code calls the receiver directly."""


def watching(
    receiver: Connected, function: Callable[..., Any]
) -> tuple[Callable[..., Any], list[bool]]:
    """Return a wrapper that calls a function and records the duration, because a plain receiver
    could block the event loop. Also return a list that stays empty until enough calls are recorded.
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
