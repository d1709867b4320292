"""What the failure table promises for each cell: the receivers that still run, the outcome for the
caller, and the emitted events.
"""

from __future__ import annotations

import attrs

from ._cells import Cell

GOES_ON = "the call goes on"
BLOCKS = "the call is blocked"
RAISES_OF_IT = "a ReceiverError goes out"
GOES_OUT = "the exception itself goes out"
CANCELS = "the cancel goes out"
IS_UNNOTICED = "nothing happens"
IS_LOST = "the call goes on without it"
IS_REFUSED = "connect refuses it"
BLOCKS_BY_CHOICE = "its decision blocks"
ANSWERS = "its answer is the result"

UNHARMED = (GOES_ON, IS_UNNOTICED, IS_LOST, IS_REFUSED)

_BY_POLICY = {"isolate": GOES_ON, "block": BLOCKS, "raise": RAISES_OF_IT}
_FAILURE_OF_ITS_ROLE = {
    "modify": _BY_POLICY,
    "guard": {"block": BLOCKS},
    "around": {"raise": GOES_OUT},
    "error": dict.fromkeys(("isolate", "block", "raise"), GOES_ON),
    "observe": {"isolate": GOES_ON},
}

_IGNORED_FROM_AN_OBSERVER = ("true", "false", "zero", "text", "list")
_CLOSED_RECEIVER = ("block", "raise")


def fate_of(cell: Cell) -> str:
    """Return what becomes of the call."""
    if cell.row == "cancelled_a":
        return CANCELS
    if cell.row == "base_exception":
        return GOES_OUT
    if cell.row == "dies_by_weakref":
        may_vanish = cell.role == "around" or cell.on_error not in _CLOSED_RECEIVER
        return IS_LOST if may_vanish else IS_REFUSED
    if cell.variant in ("known", "known_missing_name"):
        return IS_REFUSED
    if cell.row == "wrong_return":
        return _fate_of_an_answer(cell)
    return _FAILURE_OF_ITS_ROLE[cell.role][cell.on_error]


def _fate_of_an_answer(cell: Cell) -> str:
    if cell.role == "around" and cell.variant == "block":
        return BLOCKS_BY_CHOICE
    if cell.role == "around" and cell.variant == "value":
        return ANSWERS
    is_a_patch_of_nothing = cell.variant == "patch" and cell.phase != "pre"
    if cell.role == "observe" and (
        cell.variant in _IGNORED_FROM_AN_OBSERVER or is_a_patch_of_nothing
    ):
        return IS_UNNOTICED
    return _FAILURE_OF_ITS_ROLE[cell.role][cell.on_error]


@attrs.frozen
class Expected:
    """The promises of one cell.

    Attributes:
        trace: who ran, in order; `next` stands behind the failing receiver in its own role.
        items: how many items reach the consumer of a stream.
        caller: what the caller gets, in words.
        events: the events, as lines.
        outcome_seen: what the `finally` observers find in `ctx.outcome`.
    """

    trace: list[str]
    items: int
    caller: str
    events: list[str]
    outcome_seen: str


def expect(cell: Cell) -> Expected:
    """Return what the failure table promises for this cell."""
    fate = fate_of(cell)
    trace = _trace(cell, fate)
    ends = "raised" if cell.body_fails else "returned"
    outcome = {
        **dict.fromkeys(UNHARMED, ends),
        **dict.fromkeys((BLOCKS, BLOCKS_BY_CHOICE), "blocked"),
        **dict.fromkeys((RAISES_OF_IT, GOES_OUT), "raised"),
        CANCELS: "cancelled",
        ANSWERS: "replaced" if cell.phase == "before" else "returned",
    }[fate]
    return Expected(
        trace=trace,
        items=_items(cell, fate),
        caller=_caller(cell, fate),
        events=["Started", *_events(cell, fate), f"Finished {outcome}"],
        outcome_seen=ends if cell.place == "finally" else outcome,
    )


def _undisturbed(cell: Cell) -> list[str]:
    """Return the story of the call in which nobody fails but, in some cells, the body."""
    if cell.body_fails:
        return ["pre", "body", *(["item"] if cell.is_stream else []), "left", "error", "finally"]
    return [
        "pre",
        "body",
        *(["item", "more", "item"] if cell.is_stream else []),
        "left",
        "post",
        "finally",
    ]


def _mark(cell: Cell) -> str:
    """Return the first step of the undisturbed story that comes after the failure, or along with
    it.
    """
    return {"before": "body", "after": "post", "after_failure": "error"}.get(cell.phase, cell.place)


def _trace(cell: Cell, fate: str) -> list[str]:
    story, mark = _undisturbed(cell), _mark(cell)
    if fate in UNHARMED:
        return _with_next(cell, story)
    head = story[: story.index(mark)]
    if cell.role == "around":
        after = {
            ANSWERS: ["item", "post"] if cell.is_stream and cell.phase == "before" else ["post"]
        }
        if _asks_the_error_phase(cell):
            after[GOES_OUT] = ["error"]
        return [*_with_next(cell, head), *after.get(fate, []), "finally"]
    siblings = [mark, mark] if cell.role == "observe" else []
    if mark == "finally":
        return [*head, *siblings]
    # A stream that ends at an item leaves its body before anybody hears of the end.
    return [*head, *siblings, *(["left"] if mark == "item" else []), "finally"]


def _asks_the_error_phase(cell: Cell) -> bool:
    return cell.row not in ("base_exception", "cancelled_b")


def _with_next(cell: Cell, story: list[str]) -> list[str]:
    """Put in the receiver that stands behind the failing one; side by side with it, its siblings
    look all the same.
    """
    mark = "body" if cell.role == "around" else _mark(cell)
    name = mark if cell.role == "observe" else "next"
    return [step for each in story for step in ((name, each) if each == mark else (each,))]


def _items(cell: Cell, fate: str) -> int:
    if not cell.is_stream:
        return 0
    if fate == ANSWERS and cell.phase == "before":
        return 1
    story = _undisturbed(cell)
    return (
        story.count("item") if fate in UNHARMED else story[: story.index(_mark(cell))].count("item")
    )


def _caller(cell: Cell, fate: str) -> str:
    if fate in UNHARMED:
        return "the body's exception" if cell.body_fails else "the result"
    return {
        BLOCKS: "HookBlocked",
        BLOCKS_BY_CHOICE: "HookBlocked",
        RAISES_OF_IT: "ReceiverError",
        GOES_OUT: "the receiver's exception",
        CANCELS: "the cancel",
        ANSWERS: "the answer",
    }[fate]


def _events(cell: Cell, fate: str) -> list[str]:
    role = "modify" if cell.role == "error" else cell.role
    failed = f"Failed {role} {cell.place}"
    times = _undisturbed(cell).count("item") if cell.phase == "item" else 1
    return {
        GOES_ON: [f"{failed} isolated"] * times,
        BLOCKS: [f"{failed} blocked", f"Blocked {cell.place}"],
        BLOCKS_BY_CHOICE: ["Blocked around"],
        RAISES_OF_IT: [f"{failed} raised"],
        GOES_OUT: [f"{failed} raised"],
        ANSWERS: ["Mutated result"],
    }.get(fate, [])
