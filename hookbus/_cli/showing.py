"""Shows a call as a tree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text
from rich.tree import Tree

from .._views.tables import brief, printable
from .._views.values import shortened
from .calls import call_named
from .describing import did, of_call
from .reading import asked
from .screen import COLOURS, Shown, clock, console, lasted, print_json

if TYPE_CHECKING:
    from ..journal import Journal

LATE: Final = 1000
"""The number of records after the end of a call in which to search for nested calls that ended
later."""

MOST: Final = 20_000
"""The maximum number of records of a call and its nested calls."""

Data = dict[str, Any]


def print_call(journal: Journal, named: str, shown: Shown) -> None:
    """Print a call and its nested calls.

    Raises:
        HookError: if the call does not exist, or if several calls match.
    """
    number, run, call_id = call_named(journal, named)
    records = _records(journal, number, call_id)
    inside: dict[Any, list[int]] = {}
    by_call: dict[int, list[Data]] = {}
    for data in records:
        own = by_call.setdefault(data["call_id"], [])
        if not own and data["call_id"] != call_id:
            inside.setdefault(data["parent_id"], []).append(data["call_id"])
        own.append(data)
    if shown.json:
        print_json({"run": run, **_as_json(call_id, by_call, inside)})
        return
    tree = Tree(_head(by_call[call_id]))
    _grow(tree, call_id, by_call, inside)
    console().print(tree)


def _records(journal: Journal, number: int, call_id: int) -> list[Data]:
    """Return the records of a call, and all records between its start and its end."""
    first, last = asked(
        journal, "SELECT min(seq), max(seq) FROM chain WHERE run = ? AND call_id = ?",
        [number, call_id],
    )[0]  # fmt: skip
    rows = asked(
        journal,
        "SELECT data FROM chain WHERE seq BETWEEN ? AND ? AND run = ? AND call_id > 0 "
        "ORDER BY seq LIMIT ?", [first, last + LATE, number, MOST],
    )  # fmt: skip
    return [json.loads(data) for (data,) in rows]


def _ended(own: list[Data]) -> Data | None:
    return next((data for data in own if data["event"] == "Finished"), None)


def _head(own: list[Data]) -> Text:
    first, ended = own[0], _ended(own)
    start = first["at"] - (first["seconds"] if first["event"] == "Finished" else 0)
    outcome = ended["outcome"] if ended else "unfinished"
    return Text.assemble(
        (printable(of_call(first)), "bold"), f"  call {first['call_id']}  ",
        (clock(start, is_long=True), "dim"), "  ", (outcome, COLOURS.get(outcome, "")),
        f"  {lasted(ended['seconds'])}" if ended else "",
    )  # fmt: skip


def _grow(tree: Tree, call_id: int, by_call: dict[int, list[Data]], inside: Any) -> None:
    """Add the events of a call to the tree, in order."""
    own = by_call[call_id]
    outer = (by_call.get(own[0]["parent_id"]) or [{}])[0].get("baggage") or {}
    for name, value in (own[0].get("baggage") or {}).items():
        if outer.get(name) != value:
            tree.add(Text(printable(f"{name}: {shortened(value)}"), style="dim"))
    events = [(data["at"], place, data) for place, data in enumerate(own)]
    calls = [(by_call[each][0]["at"], each, None) for each in inside.get(call_id, ())]
    for _, number, data in sorted([*events, *calls], key=lambda each: each[0]):
        if data is None:
            _grow(tree.add(_head(by_call[number])), number, by_call, inside)
        else:
            for line in _lines(data):
                tree.add(line)


def _lines(data: Data) -> list[Text]:
    kind = data["event"]
    if kind == "Started":
        values = data.get("values")
        if values:
            return [Text(printable(f"{name} = {shortened(each)}")) for name, each in values.items()]
        return [Text(printable(f"arguments: {', '.join(data['arguments']) or 'none'}"))]
    if kind == "Finished":
        has_result = "result" in data and data["outcome"] != "blocked"
        result = f": {shortened(data['result'])}" if has_result else ""
        error = data.get("error") or {}
        ending = f"{error.get('type')} at {brief(str(error.get('place')))}" if error else result
        return [Text(printable(f"{data['outcome']}{': ' * bool(error)}{ending}"),
                     style=COLOURS.get(data["outcome"], ""))]  # fmt: skip
    style = {"Blocked": "blocked", "Failed": "failed", "Mutated": "changed"}.get(kind, "")
    return [Text(printable(did(data)), style=COLOURS.get(style, ""))]


def _as_json(call_id: int, by_call: dict[int, list[Data]], inside: Any) -> Data:
    own = by_call[call_id]
    ended = _ended(own) or {}
    return {
        "call_id": call_id, "hook": own[0]["hook"], "sender": own[0]["sender"],
        "outcome": ended.get("outcome", "unfinished"), "seconds": ended.get("seconds"),
        "events": own,
        "calls": [_as_json(each, by_call, inside) for each in inside.get(call_id, ())],
    }  # fmt: skip
