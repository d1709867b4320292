"""Describes the outcome of a call or the action of a receiver in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from .._views.tables import brief, printable
from .._views.values import changed, named, place_of_change, title, verb_of_block
from .screen import COLOURS, clock, lasted

Data = Mapping[str, Any]

_DONE: Final = {"blocked": "blocked", "failed": "failed", "mutated": "changed"}


@cache
def _codes(style: str) -> tuple[str, str]:
    from rich.color import ColorSystem
    from rich.style import Style

    painted = Style.parse(style).render("|", color_system=ColorSystem.STANDARD)
    before, _, after = painted.partition("|")
    return before, after


def paint(text: str, style: str) -> str:
    """Return styled text if the terminal shows colors, and plain text otherwise."""
    if not style or not _is_coloured():
        return text
    before, after = _codes(style)
    return f"{before}{text}{after}"


@cache
def _is_coloured() -> bool:
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def did(data: Data) -> str:
    """Describe the action of a receiver, or the event of a call, in a few words."""
    kind, who = data["event"], brief(data.get("receiver") or "")
    if kind == "Mutated":
        verb = "dropped" if data.get("dropped") else "changed"
        place = place_of_change(data["name"], data.get("index"))
        return f"{who} {verb} {place}{_from_to(data)}"
    if kind == "Blocked":
        how = verb_of_block(data.get("enforced", True), data.get("asked", False))
        code = f" [{data['code']}{_policies_of(data)}]" if data.get("code") else ""
        return f"{who} {how} in {data['phase']}: {data['reason']}{code}"
    if kind == "Failed":
        error = data.get("exception") or {}
        where = f" at {brief(error['place'])}" if error.get("place") else ""
        text = data.get("message") or f"{error.get('type')}{where}"
        return f"{who} failed in {data['phase']}, {data['action']}: {text}"
    if kind == "Invoked":
        by = f" by {data['by']}" if data.get("by") else ""
        text = data["answer"] if data["answer"] != "nothing" else "returned nothing"
        text = "took" if text in _DONE.values() else f"{text}{by},"  # the reason has its own line
        return f"{who} {text} {lasted(data['seconds'])}"
    if kind == "Attempted":
        return f"attempt {data['number']} of {who} {data['outcome']}, {lasted(data['seconds'])}"
    if kind == "Switched":
        return f"{who} of {data['hook']}: {data['act']}, by {data['by']}"
    if kind == "Reloaded":
        problem = data.get("problem")
        said = f"the earlier content remains in force: {problem}" if problem else "in force"
        return f"{who} of {data['hook']} reloaded its files: {said}"
    return f"{who} of {data['hook']}: {kind.lower()}".strip()


def _policies_of(data: Data) -> str:
    """Return the rule or the ids of the policies that decided, as the end of a code."""
    details = data.get("details")
    if not isinstance(details, Mapping):
        return ""
    ids = details.get("policies")
    if ids and isinstance(ids, (list, tuple)):
        return f": {', '.join(map(str, ids))}"
    return f": {details['rule']}" if isinstance(details.get("rule"), str) else ""


def _from_to(data: Data) -> str:
    if "before" not in data and "after" not in data:
        return ""
    return changed("", data.get("before"), data.get("after"))


def is_worth_showing(mark: Data) -> bool:
    """Return whether a receiver's event is shown in the line of its call. An invocation without an
    effect is not shown.
    """
    return mark["event"] != "Invoked" or mark["answer"] in (
        "asked", "approved", "handed on", "answered",
    )  # fmt: skip


def of_call(data: Data) -> str:
    """Describe a call by its hook, its tool, model or agent, and its sender. A sender with the same
    name is described by its class."""
    labels = data.get("labels")
    sender = data["sender"].partition(" at 0x")[0].removesuffix(f" {named(labels)!r}")
    return f"{title(data['hook'], labels)} of {brief(sender)}"


def call_line(call: Data, marks: Iterable[Data], *, run: str = "") -> str:
    """Describe a finished call in one line, with time, hook, outcome, and the actions of
    receivers."""
    outcome = call["outcome"]
    summary = "; ".join(did(mark) for mark in marks if is_worth_showing(mark))
    error = call.get("error") or {}
    if error.get("type") and outcome == "raised":
        summary += f"{'; ' * bool(summary)}{error['type']} at {brief(str(error.get('place')))}"
    parts = (
        paint(clock(call["at"] - call["seconds"]), "dim"),
        f"{run}{call['call_id']}".rjust(7),
        paint(outcome.ljust(9), COLOURS.get(outcome, "")),
        lasted(call["seconds"]).rjust(8),
        printable(of_call(call)),
        paint(printable(summary), "yellow" if summary else ""),
    )
    return "  ".join(parts).rstrip()


def line_of(data: Data) -> str:
    """Describe an event in one line."""
    if data["event"] == "Finished":
        return call_line(data, ())
    if data["event"] == "Started":
        text = f"{of_call(data)} began: {', '.join(data['arguments'])}".rstrip(": ")
    else:
        text = did(data)
    style = COLOURS.get(_DONE.get(data["event"].lower(), ""), "")
    when = paint(clock(data["at"]), "dim")
    return f"{when}  {str(data['call_id'] or '').rjust(7)}  {paint(printable(text), style)}"
