"""Record the first call of a receiver, without overhead for later calls."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._hooks.shell import HIDDEN
from .plan import Seat

globals().update(HIDDEN)  # it has the parameters of the compiled function


class FirstCall:
    """A placeholder for a receiver until its first call. The first call is recorded, and the
    receiver then replaces the placeholder.

    Attributes:
        places: the compiled functions whose globals contain the placeholder, each with the name,
            and for the list with this name, with the index.
    """

    def __init__(self, seat: Seat, function: Callable[..., Any]) -> None:
        self.seat, self.function = seat, function
        self.places: list[tuple[weakref.ref[FunctionType], str, int | None]] = []

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self.seat.receiver.has_fired = True
        for reference, name, index in self.places:
            if (run := reference()) is not None:
                if index is None:
                    run.__globals__[name] = self.function
                else:
                    run.__globals__[name][index] = self.seat, self.function
                del run
        return self.function(*args, **kwargs)


def stand_in(run: FunctionType) -> None:
    """Find the placeholders in a compiled function, and record their positions."""
    # A weak reference, so that the function is freed with its owner and not by a later collection.
    reference = weakref.ref(run)
    for name, value in run.__globals__.items():
        if type(value) is FirstCall:
            value.places.append((reference, name, None))
        elif type(value) is list and name.startswith("many"):
            for index, (_, each) in enumerate(value):
                if type(each) is FirstCall:
                    each.places.append((reference, name, index))
