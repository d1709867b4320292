"""Short rows for the lists of the page, regardless of the size of a record."""

from __future__ import annotations

from typing import Any, Final

from .._views.tables import brief
from .._views.values import named

LONG: Final = 300
"""The maximum number of characters of a string in a list. The detail view shows all of them."""

_FIELDS: Final = (
    "phase", "role", "outcome", "seconds", "action", "answer", "name", "reason",
)  # fmt: skip


def row(record: Any) -> dict[str, Any]:
    """Return the fields of a record for the list of calls and the table of receivers."""
    data = record.data
    run, parent = record.run, data.get("parent_id")
    error = data.get("exception") or data.get("error") or {}
    fields = {
        "seq": record.seq, "event": event_of(record), "run": run, "call": data.get("call_id"),
        "parent": parent, "hook": record.subject, "at": record.time,
        "session": record.baggage.get("session"), "mark": mark_of(record),
        "error": error.get("type"), "named": named(data.get("labels")) or None,
        **{name: data.get(name) for name in _FIELDS},
    }  # fmt: skip
    fields |= {name: brief(data[name]) for name in ("sender", "receiver") if data.get(name)}
    return {name: _short(value) for name, value in fields.items() if value is not None}


def event_of(record: Any) -> str:
    """Return the name of the event, or `intent` or `outcome` of a durable hook."""
    named: str = record.data.get("event") or record.type.removeprefix("hookbus.")
    return named


def mark_of(record: Any) -> str | None:
    """Return the mark of a record in the list: pending, blocked, shadow, failed, failed open or
    changed.

    A call that waits for approval is pending, because it has not been denied. A modifier has failed
    open if the call continued without its change. An observer that fails is marked as failed.
    """
    data, event = record.data, event_of(record)
    if event == "Blocked":
        if data.get("code") == "pending" and data.get("enforced", True):
            return "pending"
        return "blocked" if data.get("enforced", True) else "shadow"
    if event == "Failed":
        is_open = data.get("action") == "isolated" and data.get("role") == "modify"
        return "failed open" if is_open else "failed"
    return "changed" if event == "Mutated" else None


def _short(value: Any) -> Any:
    if isinstance(value, (int, float)):
        return value
    text = str(value)
    return text if len(text) <= LONG else f"{text[:LONG]}…"
