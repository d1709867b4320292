"""Defines the columns of the chain's rows, and the hash that links each record to the previous
record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

MOST: Final = 1_000_000
"""The maximum number of characters in a record. A longer record is truncated, which `left_out`
states.
"""

_CORE: Final = (
    "event", "call_id", "parent_id", "hook", "sender", "at", "receiver", "outcome", "seconds",
    "attempt", "arguments",
)  # fmt: skip

encoded: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
"""Return JSON data as text."""


Columns = tuple[
    str, str, float, int, str | None, str | None, float | None, int | None, str | None
]
"""The indexed fields of a record: type, hook, time, call, outcome of the call, receiver, seconds,
attempt of a durable hook, and session.
"""


class Row(NamedTuple):
    """The content of a record in the file, except its number and its hash."""

    columns: Columns
    data: str


def row_of(data: dict[str, Any]) -> Row:
    """Return the row of a record. If the record's data cannot be serialized or is too long, a note
    replaces the data.
    """
    try:
        text = encoded(data)
    except (TypeError, ValueError, RecursionError) as error:
        text, data = _without(data, type(error).__name__)
    if len(text) > MOST:
        text, data = _without(data, f"{len(text)} characters")
    return Row(columns(data), text)


def columns(data: Mapping[str, Any]) -> Columns:
    """Return the indexed fields of a record."""
    look, kind = data.get, data["event"].lower()
    receiver, around = look("receiver"), look("baggage")
    session = around.get("session") if around else None
    return (
        kind, _kept(data["hook"]), data["at"], data["call_id"],
        look("outcome") if kind == "finished" else None,
        None if receiver is None else _kept(receiver), look("seconds"), look("attempt"),
        None if session is None else _kept(str(session)),
    )  # fmt: skip


def bound(before: bytes, seq: int, run: str, source: str, data: str) -> bytes:
    """Return the hash that links a record to the previous one."""
    return sha256(b"%b%d\n%b\n" % (before, seq, f"{run}\n{source}\n{data}".encode())).digest()


def _without(data: Mapping[str, Any], why: str) -> tuple[str, dict[str, Any]]:
    core = {name: data[name] for name in _CORE if name in data}
    core["left_out"] = f"the rest was not recorded: {why}"
    return encoded(core), core


def _kept(name: str) -> str:
    """Escape lone surrogates in a name, so that SQLite can store the name."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()
