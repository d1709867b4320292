"""The events of a block of code as a waterfall: which call was made in which, when, how long, and
what receivers did to it.

A receiver that was asked and changed nothing leaves no event, so it is not in the picture;
`explain` lists it.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ..events import HIDDEN, Blocked, Event, Failed, Finished, Lost, Mutated, Started
from .html import COLOURS, chip
from .tables import escaped, printable

TIME_WIDTH: Final = 32
"""How many characters of a line in text are for when it happened."""


@attrs.define
class Line:
    """One line of the picture: a call, or what a receiver did in it.

    Attributes:
        depth: how many calls it is in.
        what: the call with its arguments, as far as they are known; or the receiver and what it
            did.
        word: how the call ended, or the kind of what the receiver did.
        start: seconds since the first line began.
        seconds: how long the call took; None for something that has no length.
    """

    depth: int
    what: str
    word: str
    start: float
    seconds: float | None = None


def waterfall(events: Sequence[Event]) -> list[Line]:
    """Return calls and what was done in them, each call followed by what happened inside it."""
    ends = {event.call_id: event for event in events if isinstance(event, Finished)}
    names = _names_of_senders(events)
    began = min((_start_of(event) for event in events), default=0.0)
    until = max((event.at for event in events), default=0.0)
    inside: dict[int | None, list[tuple[Line, int | None]]] = {None: []}
    for event in events:
        if isinstance(event, Started):
            line = _call(event, names[event.sender], ends.get(event.call_id), began, until)
            inside[event.parent_id if event.parent_id in inside else None].append(
                (line, event.call_id)
            )
            inside[event.call_id] = []
        elif isinstance(event, Finished) and event.call_id not in inside:
            # It was under way when the recording began.
            line = Line(
                0, _title(event, names[event.sender]), event.outcome, _start_of(event) - began,
                event.seconds,
            )  # fmt: skip
            inside[None].append((line, None))
        elif (mark := _mark(event, event.at - began)) is not None:
            inside[event.call_id if event.call_id in inside else None].append((mark, None))
    return _in_turn(inside)


def _in_turn(inside: Mapping[int | None, list[tuple[Line, int | None]]]) -> list[Line]:
    """Return the lines, each call before what is inside it.

    Not by recursion, as calls may be nested deeply.
    """
    lines, waiting = [], [(0, *pair) for pair in reversed(inside[None])]
    while waiting:
        depth, line, call = waiting.pop()
        line.depth = depth
        lines.append(line)
        if call is not None:
            waiting += [(depth + 1, *pair) for pair in reversed(inside[call])]
    return lines


def _start_of(event: Event) -> float:
    return event.at - event.seconds if isinstance(event, Finished) else event.at


def _names_of_senders(events: Sequence[Event]) -> dict[str, str]:
    """Return short names for senders: an address says nothing, but which is which does where there
    are several.
    """
    kinds: dict[str, list[str]] = {}
    for event in events:
        known = kinds.setdefault(event.sender.partition(" at 0x")[0], [])
        if event.sender not in known:
            known.append(event.sender)
    return {
        sender: f"{kind} #{number}" if len(senders) > 1 else kind
        for kind, senders in kinds.items() for number, sender in enumerate(senders, 1)
    }  # fmt: skip


def _call(event: Started, sender: str, end: Finished | None, began: float, until: float) -> Line:
    start = event.at - began
    if end is None:
        return Line(0, _title(event, sender), "running", start, max(until - event.at, 0.0))
    error = f": {type(end.error).__name__}" if end.error is not None else ""
    return Line(0, _title(event, sender) + error, end.outcome, start, end.seconds)


def _title(event: Started | Finished, sender: str) -> str:
    values = event.values if isinstance(event, Started) else HIDDEN
    given = (
        ""
        if values is HIDDEN
        else f"({', '.join(f'{name}={shortened(value)}' for name, value in values.items())})"
    )
    is_function, name = (
        sender.startswith("function "),
        sender.removeprefix("function ").rpartition(".")[2],
    )
    of = (
        ""
        if is_function and name == event.hook
        else f" of {name}()"
        if is_function
        else f" of {sender}"
    )
    return f"{event.hook}{given}{of}"


def _mark(event: Event, start: float) -> Line | None:
    if isinstance(event, Mutated):
        before, after = shortened(event.before), shortened(event.after)
        # hidden, or alike where they are cut
        values = f": {before} → {after}" if before != after else ""
        return Line(0, f"{event.receiver} changed {event.name}{values}", "changed", start)
    if isinstance(event, Blocked):
        return Line(
            0, f"{event.receiver} blocked in {event.phase}: {event.reason}", "blocked", start
        )
    if isinstance(event, Failed):
        error = type(event.exception).__name__
        said = f"{event.receiver} failed in {event.phase}: {error}, {event.action}"
        return Line(0, said, "failed", start)
    if isinstance(event, Lost):
        return Line(0, f"{event.receiver} of {event.hook} died", "failed", start)
    return None


class _Short(reprlib.Repr):
    def repr_instance(self, x: Any, level: int) -> str:
        text = super().repr_instance(x, level)
        return f"<{type(x).__name__}>" if len(text) >= self.maxother or " at 0x" in text else text


_short = _Short()
_short.maxstring = _short.maxother = 48
_short.maxlevel = 3


def shortened(value: Any) -> str:
    """Return a value as one short piece of text, whatever its own `repr` does."""
    try:
        return printable(_short.repr(value))
    except Exception:  # of somebody's own kind of container
        return f"<{type(value).__name__}>"


# -- drawn -----------------------------------------------------------------------------------------


def summary(lines: Sequence[Line]) -> str:
    """Return what there is to see, in one line."""
    calls = Counter(line.word for line in lines if line.seconds is not None)
    marks = Counter(line.word for line in lines if line.word in ("changed", "failed"))
    said = ", ".join(f"{count} {word}" for word, count in (calls + marks).items())
    if not lines:
        return "nothing fired"
    count = f"{calls.total()} call{'s' * (calls.total() != 1)}"
    return f"{count} in {duration(_length(lines))}: {said}"


def as_text(lines: Sequence[Line]) -> str:
    """Return the picture in characters."""
    length = _length(lines)
    return "\n".join([summary(lines), *(_text_line(line, length) for line in lines)])


def _text_line(line: Line, length: float) -> str:
    took = "" if line.seconds is None else duration(line.seconds)
    first = min(int(line.start / length * TIME_WIDTH), TIME_WIDTH - 1)
    count = max(1, min(round((line.seconds or 0.0) / length * TIME_WIDTH), TIME_WIDTH - first))
    bar = " " * first + ("│" if line.seconds is None else "█" * count)
    what = "  " * line.depth + printable(line.what)
    return f"  {line.word:<9}  {took:>7}  {bar:<{TIME_WIDTH}}  {what}"


def as_html(lines: Sequence[Line]) -> list[str]:
    """Return the picture as parts of HTML: a table whose last column is drawn."""
    length = _length(lines)
    head = "".join(
        f"<th>{name}</th>" for name in ("what", "how", "took", f"when, 0 to {duration(length)}")
    )
    rows = "".join(_html_line(line, length) for line in lines)
    table = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    drawn = f'<div><table class="calls">{table}</table></div>' if lines else ""
    return [f"<h4>{escaped(summary(lines))}</h4>", drawn]


def _html_line(line: Line, length: float) -> str:
    took = "" if line.seconds is None else duration(line.seconds)
    what = f'<td style="padding-left:{min(line.depth, 12):.0f}em">{escaped(line.what)}</td>'
    cells = f"{what}<td>{chip(line.word, line.word)}</td>"
    return f"<tr>{cells}<td>{took}</td><td>{_drawn(line, length)}</td></tr>"


def _drawn(line: Line, length: float) -> str:
    """Return the bar of a call, or the tick of what has no length.

    A bar is framed, so that the shortest is to be seen.
    """
    colour = COLOURS[line.word]
    first = 1 + 98 * min(line.start / length, 1.0)
    if line.seconds is None:
        when = f"at {duration(line.start)}"
        shape = f'<circle cx="{first:.2f}%" cy="50%" r="4" fill="{colour}"/>'
    else:
        when = f"from {duration(line.start)} to {duration(line.start + line.seconds)}"
        size = f'x="{first:.2f}%" y="20%" width="{98 * line.seconds / length:.2f}%" height="60%"'
        shape = f'<rect {size} fill="{colour}" stroke="{colour}" stroke-width="2"/>'
    track = '<line x1="0" x2="100%" y1="50%" y2="50%" stroke="#888888" stroke-opacity="0.4"/>'
    return f'<svg role="img"><title>{when}</title>{track}{shape}</svg>'


def _length(lines: Sequence[Line]) -> float:
    return max((line.start + (line.seconds or 0.0) for line in lines), default=0.0) or 1e-6


def duration(seconds: float) -> str:
    """Return seconds as text with a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return (
                f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds:.0f} {unit}"
            )
    return f"{max(seconds, 0.0) * 1e6:.0f} µs"
