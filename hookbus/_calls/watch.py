"""Times the first calls of a plain receiver of an async hook, because it could block the event
loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from .._connections.receiver import Connected

WATCHED: Final = 8
"""How many calls of each plan are timed; after that, its code calls the receiver directly."""


def watching(
    receiver: Connected, function: Callable[..., Any]
) -> tuple[Callable[..., Any], list[bool]]:
    """Return a wrapper that calls a function and records how long it took, and a list that is empty
    until that has happened often enough.
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
