"""Show the events of a block of code as a waterfall: nested calls, their start times and durations,
and the actions of receivers.

A receiver that changed nothing emits no event, so the waterfall does not show it. `explain` lists
all receivers.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ..events import HIDDEN, Attempted, Blocked, Event, Failed, Finished, Lost, Mutated, Started
from .html import COLOURS, chip
from .tables import brief, escape, printable, width
from .values import changed, place_of_change, shortened, verb_of_block

_MARGIN: Final = 24
"""The width that a text line needs for everything except the time bar and the description."""


@attrs.define
class Line:
    """One line of the waterfall: a call, or the action of a receiver in a call.

    Attributes:
        depth: the number of calls around this call or action.
        what: the call with its arguments, if known, or the receiver with its action.
        word: the outcome of the call, or the kind of the receiver's action.
        start: the seconds from the start of the first line to the start of this line.
        seconds: the duration of the call or attempt, or None for an action without a duration.
        again: the times at which the receiver repeated the action on later items of a stream.
    """

    depth: int
    what: str
    word: str
    start: float
    seconds: float | None = None
    is_call: bool = False
    again: list[float] = attrs.Factory(list)


def waterfall(events: Sequence[Event]) -> list[Line]:
    """Return the lines of a waterfall. The nested calls and the actions of a call follow the call.
    """
    ends = {event.call_id: event for event in events if isinstance(event, Finished)}
    names = _names_of_senders(events)
    began = min((_start_of(event) for event in events), default=0.0)
    until = max((event.at for event in events), default=0.0)
    inside: dict[int | None, list[tuple[Line, int | None]]] = {None: []}
    items: dict[tuple[Any, ...], tuple[Line, Any]] = {}
    for event in events:
        if isinstance(event, Started):
            line = _call(event, names[event.sender], ends.get(event.call_id), began, until)
            inside[event.parent_id if event.parent_id in inside else None].append(
                (line, event.call_id)
            )
            inside[event.call_id] = []
        elif isinstance(event, Finished) and event.call_id not in inside:
            # The call was already running when the recording began.
            line = Line(
                0, _title(event, names[event.sender]), event.outcome, _start_of(event) - began,
                event.seconds, is_call=True,
            )  # fmt: skip
            inside[None].append((line, None))
        elif (mark := _mark(event, _start_of(event) - began)) is not None:
            lines = inside[event.call_id if event.call_id in inside else None]
            if isinstance(event, Attempted):  # emitted after the last attempt
                later = (i for i, (line, _) in enumerate(lines) if line.start >= mark.start)
                lines.insert(next(later, len(lines)), (mark, None))
            else:
                line, _ = items.setdefault(_stream_of(event), (mark, event))
                if line is mark:
                    lines.append((mark, None))
                else:
                    line.again.append(mark.start)
    for line, first in items.values():
        if line.again:
            line.what = _change(first, 1 + len(line.again))
    return _in_turn(inside)


def _stream_of(event: Event) -> tuple[Any, ...]:
    """Return the key of a line. Actions of one receiver on the items of one stream have the same
    key if they are of the same kind.
    """
    if isinstance(event, Mutated) and event.index is not None:
        return event.call_id, event.receiver, event.dropped
    return (id(event),)


def _in_turn(inside: Mapping[int | None, list[tuple[Line, int | None]]]) -> list[Line]:
    """Return the lines in order, each call before its nested lines.

    This function uses no recursion, because calls may be deeply nested.
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
    return event.at - event.seconds if isinstance(event, (Finished, Attempted)) else event.at


def _names_of_senders(events: Sequence[Event]) -> dict[str, str]:
    """Return short names for senders, without addresses. Senders with equal names are numbered."""
    kinds: dict[str, list[str]] = {}
    for event in events:
        known = kinds.setdefault(event.sender.partition(" at 0x")[0], [])
        if event.sender not in known:
            known.append(event.sender)
    return {
        sender: f"{brief(kind)} #{number}" if len(senders) > 1 else brief(kind)
        for kind, senders in kinds.items() for number, sender in enumerate(senders, 1)
    }  # fmt: skip


def _call(event: Started, sender: str, end: Finished | None, began: float, until: float) -> Line:
    start, what = event.at - began, _title(event, sender)
    if end is None:
        return Line(0, what, "running", start, max(until - event.at, 0.0), is_call=True)
    word: str = end.outcome
    if isinstance(end.error, GeneratorExit):
        what, word = f"{what}: left by its consumer", "left"
    elif end.error is not None:
        what = f"{what}: {type(end.error).__name__}"
    return Line(0, what, word, start, end.seconds, is_call=True)


def _title(event: Started | Finished, sender: str) -> str:
    values = event.values if isinstance(event, Started) else HIDDEN
    shown_arguments = (
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
    return f"{event.hook}{shown_arguments}{of}"


def _mark(event: Event, start: float) -> Line | None:
    if isinstance(event, Attempted):
        what = f"attempt {event.number} of {brief(event.receiver)}"
        return Line(0, what, event.outcome, start, event.seconds)
    if isinstance(event, Mutated):
        return Line(0, _change(event), "dropped" if event.dropped else "changed", start)
    if isinstance(event, Blocked):
        how = verb_of_block(event.enforced, event.asked)
        text = f"{brief(event.receiver)} {how} in {event.phase}: {event.reason}"
        return Line(0, text, "blocked" if event.enforced else "shadow", start)
    if isinstance(event, Failed):
        error = type(event.exception).__name__
        text = f"{brief(event.receiver)} failed in {event.phase}: {error}, {event.action}"
        return Line(0, text if event.enforced else f"{text} in shadow", "failed", start)
    if isinstance(event, Lost):
        what = f"{brief(event.receiver)} of {event.hook} was garbage collected"
        return Line(0, what, "failed", start)
    return None


def _change(event: Mutated, count: int = 1) -> str:
    """Describe a change that a receiver made. For several items of a stream, describe the number of
    items and the first change.
    """
    who, verb = brief(event.receiver), "dropped" if event.dropped else "changed"
    if event.dropped:
        values = "" if event.before is HIDDEN else f": {shortened(event.before)}"
    else:
        values = changed("", event.before, event.after)
    if count > 1:
        return f"{who} {verb} {count} items{f', the first{values}' * bool(values)}"
    return f"{who} {verb} {place_of_change(event.name)}{values}"


# -- output ----------------------------------------------------------------------------------------


def summary(lines: Sequence[Line]) -> str:
    """Return a summary of the calls in one line."""
    if not lines:
        return "nothing fired"
    calls = Counter(line.word for line in lines if line.is_call)
    marks: Counter[str] = Counter()
    for line in lines:
        if not line.is_call and line.word in ("changed", "dropped", "failed", "shadow"):
            marks[line.word] += 1 + len(line.again)
    counts = ", ".join(f"{count} {word}" for word, count in (calls + marks).items())
    count = f"{calls.total()} call{'s' * (calls.total() != 1)}"
    return f"{count} in {duration(_length(lines))}: {counts}"


def as_text(lines: Sequence[Line]) -> str:
    """Return the waterfall as text that fits the terminal."""
    length, space = _length(lines), width() - _MARGIN
    time = min(max(space // 3, 12), 32)
    drawn = (_text_line(line, length, time, space - time) for line in lines)
    title = re.sub(r"(?<=\d) ", "\xa0", summary(lines))  # prevents a line break after a number
    head = (line.replace("\xa0", " ") for line in textwrap.wrap(title, width()))
    return "\n".join([*head, *drawn])


def _text_line(line: Line, length: float, time: int, space: int) -> str:
    took = "" if line.seconds is None else duration(line.seconds)
    bar = [" "] * time
    places = [min(int(start / length * time), time - 1) for start in (line.start, *line.again)]
    if line.seconds is None:
        for place in places:
            bar[place] = "│"
    else:
        first = places[0]
        count = max(1, min(round(line.seconds / length * time), time - first))
        bar[first : first + count] = "█" * count
    indent = min(2 * line.depth, space // 2)
    begin, further = " " * indent, " " * (indent + 4)
    folded = textwrap.wrap(
        printable(line.what), space, initial_indent=begin, subsequent_indent=further,
        break_on_hyphens=False, max_lines=4, placeholder=" …",
    )  # fmt: skip
    what = f"\n{' ' * (_MARGIN + time)}".join(folded)
    return f"  {line.word:<9}  {took:>7}  {''.join(bar)}  {what}"


def as_html(lines: Sequence[Line]) -> list[str]:
    """Return the waterfall as HTML: a table with the bars in the last column."""
    length = _length(lines)
    head = "".join(
        f"<th>{name}</th>" for name in ("what", "how", "took", f"when, 0 to {duration(length)}")
    )
    rows = "".join(_html_line(line, length) for line in lines)
    table = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    drawn = f'<div><table class="calls">{table}</table></div>' if lines else ""
    return [f"<h4>{escape(summary(lines))}</h4>", drawn]


def _html_line(line: Line, length: float) -> str:
    took = "" if line.seconds is None else duration(line.seconds)
    what = f'<td style="padding-left:{min(line.depth, 12):.0f}em">{escape(line.what)}</td>'
    cells = f"{what}<td>{chip(line.word, line.word)}</td>"
    return f"<tr>{cells}<td>{took}</td><td>{_drawn(line, length)}</td></tr>"


def _drawn(line: Line, length: float) -> str:
    """Return a bar for a call, or a mark for an action without a duration.

    A frame makes even the shortest bar visible.
    """
    color = COLOURS[line.word]
    first = 1 + 98 * min(line.start / length, 1.0)
    if line.seconds is None:
        when = f"at {duration(line.start)}"
        when += f", until {duration(line.again[-1])}" if line.again else ""
        places = dict.fromkeys(round(99 * min(at / length, 1.0)) for at in line.again)
        shape = "".join(
            f'<circle cx="{place:.2f}%" cy="50%" r="4" fill="{color}"/>'
            for place in (first, *(1 + place * 98 / 99 for place in places))
        )
    else:
        when = f"from {duration(line.start)} to {duration(line.start + line.seconds)}"
        size = f'x="{first:.2f}%" y="20%" width="{98 * line.seconds / length:.2f}%" height="60%"'
        shape = f'<rect {size} fill="{color}" stroke="{color}" stroke-width="2"/>'
    track = '<line x1="0" x2="100%" y1="50%" y2="50%" stroke="#888888" stroke-opacity="0.4"/>'
    return f'<svg role="img"><title>{when}</title>{track}{shape}</svg>'


def _length(lines: Sequence[Line]) -> float:
    return max((line.start + (line.seconds or 0.0) for line in lines), default=0.0) or 1e-6


def duration(seconds: float) -> str:
    """Return a duration as text with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return (
                f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds:.0f} {unit}"
            )
    return f"{max(seconds, 0.0) * 1e6:.0f} µs"
