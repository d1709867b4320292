"""One call as a tree: the call, its nested calls, and the actions of receivers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from .._views.tables import brief
from .._views.values import changed, place_of_change, title, verb_of_block
from ._rows import event_of, mark_of

MOST: Final = 2_000
"""The maximum number of lines of a call. If there are more, a note replaces them."""


def tree(records: Iterable[Any], run: str, call: int) -> list[dict[str, Any]]:
    """Return the lines of a call in the order of their start times, each with its `depth`.

    Args:
        records: the records from the start of the call, in order. None marks a gap.
        run: the run of the call.
        call: the number of the call.
    """
    lines: dict[int, dict[str, Any]] = {}
    inside: dict[int, list[dict[str, Any]]] = {}
    waiting: set[int] = set()
    for record in records:
        if record is None:
            inside[call].append(_note("some records here are not searched", lines[call]))
            continue
        data = record.data
        number, parent = data.get("call_id"), data.get("parent_id")
        if record.run != run or not (number == call or number in lines or parent in lines):
            continue
        if number not in lines:
            lines[number] = _call(record)
            inside[number] = []
            if number != call:
                inside[parent].append(lines[number])
        if event_of(record) == "Finished":
            lines[number].update(_end(record, is_pending=number in waiting))
        elif event_of(record) != "Started":
            inside[number].append(_mark(record))
            if mark_of(record) == "pending":
                waiting.add(number)
    if call not in lines:
        return []
    drawn = [*islice(_in_turn(lines[call], inside), MOST)]
    if len(drawn) == MOST:
        drawn.append({**_note("further lines are not shown", lines[call]), "depth": 0})
    return drawn


def _in_turn(
    first: dict[str, Any], inside: dict[int, list[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yield each call before its nested calls, without recursion, because nesting may be deep."""
    waiting = [(0, first)]
    while waiting:
        depth, line = waiting.pop()
        yield {**line, "depth": depth}
        waiting += [(depth + 1, each) for each in reversed(inside.get(line.get("call", 0), []))]


def _call(record: Any) -> dict[str, Any]:
    """Return the line of a call from its first record, which may be the record of its end."""
    data, sender = record.data, brief(record.data.get("sender") or "")
    which = title(record.subject, data.get("labels"))
    around = [*_fact("arguments", data.get("values")), *_fact("baggage", record.baggage)]
    return {
        "call": data["call_id"], "parent": data.get("parent_id"), "hook": record.subject,
        "what": f"{which}({', '.join(data.get('arguments') or ())})",
        "sender": sender, "of": sender.partition(" at 0x")[0], "word": "running",
        "start": record.time, "seconds": None, "facts": around, "end": [],
    }  # fmt: skip


def _end(record: Any, *, is_pending: bool) -> dict[str, Any]:
    data = record.data
    return {
        "word": "pending" if is_pending and data["outcome"] == "blocked" else data["outcome"],
        "seconds": data["seconds"], "start": record.time - data["seconds"],
        "end": [*_fact("result", data.get("result")), *_exception(data.get("error"))],
    }  # fmt: skip


def _mark(record: Any) -> dict[str, Any]:
    """Return the line of a receiver's action, or of another event in a call."""
    data, event = record.data, event_of(record)
    seconds = data.get("seconds")
    what, facts = event, [*_fact("record", data)]
    if event in _SAID:
        what, facts = _SAID[event]({**data, "receiver": brief(data.get("receiver") or "")})
    words = {"Invoked": data.get("answer"), "Attempted": data.get("outcome")}
    return {
        "what": what, "word": mark_of(record) or words.get(event) or event.lower(),
        "start": record.time - (seconds or 0.0), "seconds": seconds, "facts": facts, "end": [],
    }  # fmt: skip


_Said = tuple[str, list[tuple[str, str]]]


def _mutated(data: Mapping[str, Any]) -> _Said:
    place = place_of_change(data["name"], data.get("index"))
    if {"before", "after"} <= data.keys():  # on a bus with `values=True`
        place = changed(place, data["before"], data["after"])
    facts = [*_fact("before", data.get("before")), *_fact("after", data.get("after"))]
    return f"{data['receiver']} {'dropped' if data.get('dropped') else 'changed'} {place}", facts


def _blocked(data: Mapping[str, Any]) -> _Said:
    how = verb_of_block(data.get("enforced", True), data.get("asked", False))
    if data.get("code") == "pending" and data.get("enforced", True):
        how = "asked for an approval"
    what = f"{data['receiver']} {how} in {data['phase']}: {data['reason']}"
    return what, [*_fact("details", data.get("details"))]


def _failed(data: Mapping[str, Any]) -> _Said:
    kind, where = (data.get("exception") or {}).get("type"), f"{data['role']}, in {data['phase']}"
    what = f"{data['receiver']} ({where}) failed: {kind}, {data['action']}"
    return what, [*_exception(data.get("exception"))]


def _invoked(data: Mapping[str, Any]) -> _Said:
    by = f" by {data['by']}" if data.get("by") else ""
    return f"{data['receiver']} in {data['phase']}: {data['answer']}{by}", []


def _attempted(data: Mapping[str, Any]) -> _Said:
    return f"attempt {data['number']} of {data['receiver']}", []


_SAID: Final[Mapping[str, Callable[[Mapping[str, Any]], _Said]]] = {
    "Mutated": _mutated, "Blocked": _blocked, "Failed": _failed, "Invoked": _invoked,
    "Attempted": _attempted,
}  # fmt: skip


def _note(what: str, line: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": what, "word": "…", "start": line["start"], "seconds": None, "facts": [], "end": [],
    }  # fmt: skip


def _fact(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a value in full, as JSON, unless it is None."""
    if value is not None and value != {}:
        yield name, json.dumps(value, indent=2, ensure_ascii=False)


def _exception(error: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if error:
        yield "exception", f"{error.get('type')} at {brief(str(error.get('place')))}"
