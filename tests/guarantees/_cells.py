"""Every cell of the failure table, and the reason for each cell that does not exist.

The axes are multiplied out completely. Each combination is a cell or has a reason, so that none is
missing silently.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator

import attrs

STREAMS = ("generator", "async_generator")
TARGETS = ("sync", "async", *STREAMS)
RECEIVERS = ("def", "coroutine")
ON_ERROR = ("isolate", "block", "raise")

MOMENTS = ("before", "after", "after_failure")
"""An around fails before its `call_next`, after it, or after a `call_next` whose body failed."""

PHASES = {
    "modify": ("pre", "item", "post"),
    "guard": ("pre", "item", "post"),
    "around": MOMENTS,
    "error": ("error",),
    "observe": ("pre", "item", "post", "error", "finally", "finally_of_failure"),
}
POLICIES = {
    "modify": ON_ERROR,
    "guard": ("block",),
    "around": ("raise",),
    "error": ON_ERROR,
    "observe": ("isolate",),
}
ROWS = {
    "raises": (
        "value_error",
        "memory_error",
        "recursion_error",
        "import_error",
        "value_error_in_time",
    ),
    "times_out": ("hangs", "answers_late", "blocks_the_loop"),
    "cancelled_a": ("by_the_caller", "with_no_task", "by_the_caller_in_time"),
    "cancelled_b": ("by_itself", "by_itself_in_time"),
    "wrong_return": (
        *(
            "true",
            "false",
            "zero",
            "text",
            "list",
            "patch",
            "unknown_name",
            "drop",
            "block",
            "replace",
        ),
        *("write", "swallowed_write", "swallowed_write_in_time", "no_stream", "value"),
    ),
    "async_on_sync": ("known", "returned", "returned_in_time", "connected_first"),
    "base_exception": (
        "keyboard_interrupt",
        "system_exit",
        "other_base_exception",
        "keyboard_interrupt_in_time",
    ),
    "dies_by_weakref": ("collected",),
    "when_raises": ("predicate", "missing_name", "known_missing_name"),
}
"""The ways to fail. `in_time`: under a deadline that is far away, so that a def runs in a worker
thread.
"""

_DATA = {"true", "false", "zero", "text", "list"}
_WRITES = {"write", "swallowed_write", "swallowed_write_in_time"}
_OF_A_GUARD = _DATA | _WRITES | {"patch", "drop", "replace"}
_OF_AN_OBSERVER = _DATA | _WRITES | {"patch", "drop", "replace", "block"}
WRONG_RETURNS = {
    ("modify", "pre"): _DATA | {"unknown_name", "drop"},
    ("modify", "item"): _WRITES,
    ("modify", "post"): _WRITES | {"drop"},
    ("guard", "pre"): _OF_A_GUARD,
    ("guard", "item"): _OF_A_GUARD,
    ("guard", "post"): _OF_A_GUARD,
    ("error", "error"): _DATA | _WRITES | {"patch", "drop", "block"},
    ("around", "before"): _WRITES | {"drop", "block", "value", "no_stream"},
    ("around", "after"): {"drop", "block", "value"},
    **{("observe", phase): _OF_AN_OBSERVER for phase in PHASES["observe"]},
}


@attrs.frozen
class Cell:
    """One way to fail: who, how, where, on which colour of method and under which policy."""

    role: str
    row: str
    variant: str
    phase: str
    target: str
    receiver: str
    on_error: str

    def __str__(self) -> str:
        by = ("by_coroutine",) if self.receiver == "coroutine" else ()
        return "-".join(
            (self.role, self.row, self.variant, self.phase, self.target, *by, self.on_error)
        )

    @property
    def deed(self) -> str:
        return self.variant.removesuffix("_in_time")

    @property
    def has_a_far_deadline(self) -> bool:
        return self.variant != self.deed

    @property
    def is_stream(self) -> bool:
        return self.target in STREAMS

    @property
    def is_async(self) -> bool:
        return self.target in ("async", "async_generator")

    @property
    def body_fails(self) -> bool:
        return self.phase in ("error", "after_failure", "finally_of_failure")

    @property
    def needs_a_task(self) -> bool:
        return self.is_async or (
            self.row.startswith("cancelled") and self.variant != "with_no_task"
        )

    @property
    def is_connected_first(self) -> bool:
        """Whether the receiver is there before the method, so that nobody can know yet that they do
        not fit.
        """
        return self.variant in ("connected_first", "missing_name")

    @property
    def place(self) -> str:
        """The phase in the words of an event."""
        if self.role == "around":
            return "around"
        return "finally" if self.phase == "finally_of_failure" else self.phase


def _is_of_another_colour(cell: Cell) -> bool:
    """Tell whether an around cannot be of this colour on this method; a def around `await` can only
    fail before it.
    """
    if cell.row == "async_on_sync" or (cell.target == "async" and cell.phase == "before"):
        return False
    return cell.receiver != ("coroutine" if cell.is_async else "def")


def _has_only_one_moment(cell: Cell) -> bool:
    return (
        cell.row in ("dies_by_weakref", "when_raises", "async_on_sync") and cell.phase != "before"
    )


def _cannot_return_it(cell: Cell) -> bool:
    """Tell whether a stream around would have to return what it can only yield, or what is the end
    of a generator.
    """
    if cell.variant == "value":
        return cell.target == "async_generator" and cell.phase == "after"
    return cell.is_stream and cell.row == "wrong_return" and cell.variant in ("drop", "block")


ABSENT: dict[str, Callable[[Cell], bool]] = {
    "the role has no such phase": lambda cell: cell.phase not in PHASES[cell.role],
    "this on_error is refused for the role": lambda cell: cell.on_error not in POLICIES[cell.role],
    "only streams have items": lambda cell: cell.phase == "item" and not cell.is_stream,
    "a post guard on a stream is refused": lambda cell: (
        cell.role == "guard" and cell.phase == "post" and cell.is_stream
    ),
    "a coroutine on a sync method is a row of its own": lambda cell: (
        cell.receiver == "coroutine" and not cell.is_async and cell.row != "async_on_sync"
    ),
    "an async method takes async receivers": lambda cell: (
        cell.row == "async_on_sync" and cell.is_async
    ),
    "only a coroutine function is known to be async": lambda cell: (
        cell.row == "async_on_sync" and (cell.deed == "returned") != (cell.receiver == "def")
    ),
    "an async call always has a task": lambda cell: (
        cell.variant == "with_no_task" and cell.is_async
    ),
    "an around has no deadline": lambda cell: (
        cell.role == "around" and (cell.row == "times_out" or cell.has_a_far_deadline)
    ),
    "a worker thread has no task to cancel": lambda cell: (
        cell.variant == "by_the_caller_in_time" and cell.receiver == "def"
    ),
    "a def with a deadline leaves the loop": lambda cell: (
        cell.variant == "blocks_the_loop" and cell.receiver == "def"
    ),
    "it is a legal answer there": lambda cell: (
        cell.row == "wrong_return"
        and cell.variant not in WRONG_RETURNS.get((cell.role, cell.phase), ())
    ),
    "an around has the colour of its method": lambda cell: (
        cell.role == "around" and _is_of_another_colour(cell)
    ),
    "an around that never runs has one moment": lambda cell: (
        cell.role == "around" and _has_only_one_moment(cell)
    ),
    "a stream's around answers by its items": lambda cell: (
        cell.role == "around" and _cannot_return_it(cell)
    ),
    "only around a stream must be a stream": lambda cell: (
        cell.variant == "no_stream" and not cell.is_stream
    ),
}


def absence(cell: Cell) -> str | None:
    """Return why there is no such cell, or None when there is."""
    return next((reason for reason, holds in ABSENT.items() if holds(cell)), None)


def combinations() -> Iterator[Cell]:
    """Yield every combination of the axes, cells and absent ones."""
    phases = list(dict.fromkeys(phase for of_role in PHASES.values() for phase in of_role))
    rows = [(row, variant) for row, variants in ROWS.items() for variant in variants]
    for role, (row, variant), *rest in itertools.product(
        PHASES, rows, phases, TARGETS, RECEIVERS, ON_ERROR
    ):
        yield Cell(role, row, variant, *rest)


CELLS = [cell for cell in combinations() if absence(cell) is None]
def sample() -> list[Cell]:
    """Return every third cell of each role, variant and phase, from another one on in each, and at
    least one.
    """
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in CELLS:
        groups.setdefault((cell.role, cell.row, cell.variant, cell.phase), []).append(cell)
    places = enumerate(groups.values())
    return [cell for at, group in places for cell in group[at % min(3, len(group)) :: 3]]


TRIED = CELLS if "HOOKBUS_LONG" in os.environ else sample()
"""The cells that are tried: all of them at night."""

COUNTS = Counter((cell.role, cell.row) for cell in CELLS)
