"""The chain: what stands in a row of it, and how each record is bound to the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

MOST: Final = 1_000_000
"""So many characters a record has at most; what is longer is left out, and that is said."""

_CORE: Final = (
    "event", "call_id", "parent_id", "hook", "sender", "at", "receiver", "outcome", "seconds",
    "attempt", "arguments",
)  # fmt: skip

_written: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


Columns = tuple[
    str, str, float, int, str | None, str | None, float | None, int | None, str | None
]
"""What is looked for in a record: its type, hook, time and call; the outcome of a call; a receiver;
seconds; the attempt of a durable hook; the session.
"""


class Row(NamedTuple):
    """What stands in the file of a record, besides its number and its hash."""

    columns: Columns
    data: str


def row_of(data: dict[str, Any]) -> Row:
    """Return the row of a record. What has no JSON, or too much, is left out, and that is said."""
    try:
        text = _written(data)
    except (TypeError, ValueError, RecursionError) as error:
        text, data = _without(data, type(error).__name__)
    if len(text) > MOST:
        text, data = _without(data, f"{len(text)} characters")
    return Row(columns(data), text)


def columns(data: Mapping[str, Any]) -> Columns:
    """Return what is looked for in a record."""
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
    """Return the hash that binds a record to the one before."""
    return sha256(b"%b%d\n%b\n" % (before, seq, f"{run}\n{source}\n{data}".encode())).digest()


def _without(data: Mapping[str, Any], why: str) -> tuple[str, dict[str, Any]]:
    kept = {name: data[name] for name in _CORE if name in data}
    kept["left_out"] = f"the rest is not here: {why}"
    return _written(kept), kept


def _kept(name: str) -> str:
    """Return a name as SQLite can keep it, which knows no half of a pair of surrogates."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()
