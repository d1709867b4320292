"""Selects calls in a journal, together with the events of their receivers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs
from cyclopts import Parameter

from .. import HookError
from .._ground.errors import did_you_mean
from .reading import asked
from .when import moment

if TYPE_CHECKING:
    from ..journal import Journal

ENDS: Final = ("returned", "replaced", "blocked", "raised", "cancelled", "paused")
OUTCOMES: Final = (*ENDS, "failed", "unfinished")

_OPEN: Final = (
    "SELECT run, call_id FROM chain WHERE type IN ('started', 'finished') "
    "GROUP BY run, call_id HAVING min(type) = 'started' ORDER BY run DESC, call_id DESC"
)
_CALL: Final = (
    "SELECT run, runs.id, call_id, data FROM chain JOIN runs ON runs.number = chain.run WHERE {} "
)


@Parameter(name="*")
@attrs.frozen
class Wanted:
    """The options that select calls."""

    hook: str | None = None
    """only calls to this hook."""
    outcome: str | None = None
    """only calls with this outcome: returned, replaced, blocked, raised, cancelled, paused,
    failed (a receiver failed) or unfinished (the call has not ended)."""
    receiver: str | None = None
    """only calls with a recorded action of this receiver."""
    since: str | None = None
    """only calls that ended since this time: 15m, 2h, 3d, yesterday, 03:15, 2026-11-24T03:15."""
    session: str | None = None
    """only calls of this session."""

    def checked(self) -> Wanted:
        """Return a copy of the options with the time in seconds.

        Raises:
            HookError: if the outcome is unknown or the time is invalid.
        """
        if self.outcome is not None and self.outcome not in OUTCOMES:
            raise HookError(
                f"unknown outcome {self.outcome!r}{did_you_mean(self.outcome, OUTCOMES)}"
            )
        return self if self.since is None else attrs.evolve(self, since=str(moment(self.since)))

    def conditions(self) -> tuple[list[str], list[Any]]:
        """Return SQL conditions on the rows of `chain`, and their values."""
        kind = "started" if self.outcome == "unfinished" else "finished"
        found = [f"type = '{kind}'", "attempt IS NULL"]  # makes SQLite use the indexes of calls
        values: list[Any] = []
        for column, value in (("hook = ?", self.hook), ("time >= ?", self.since)):
            if value is not None:
                found.append(column)
                values.append(float(value) if column[0] == "t" else value)
        if self.outcome in ENDS:
            found.append("outcome = ?")
            values.append(self.outcome)
        if self.session is not None:
            found.append("session = ?")
            values.append(self.session)
        return found, values

    def has(self, data: dict[str, Any], marks: Sequence[dict[str, Any]]) -> bool:
        """Return whether a call that has just ended is selected."""
        failed = any(mark["event"] == "Failed" for mark in marks)
        ended = {data["outcome"], *(["failed"] if failed else [])}
        return (
            self.hook in (None, data["hook"])
            and (self.outcome is None or self.outcome in ended)
            and self.session in (None, (data.get("baggage") or {}).get("session"))
            and (self.receiver is None or any(m.get("receiver") == self.receiver for m in marks))
            and (self.since is None or data["at"] >= float(self.since))
        )


EVERY: Final = Wanted()


@attrs.frozen
class Call:
    """A call in a journal.

    Attributes:
        run: the run of the call.
        data: the last event of the call, or the first event if the call has not ended.
        marks: the events of the call's receivers, in order.
    """

    run: str
    data: dict[str, Any]
    marks: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        """Return the call in the format of `--json`."""
        return {"run": self.run, **self.data, "receivers": self.marks}


def calls(
    journal: Journal, wanted: Wanted, limit: int, *, last: int | None = None
) -> list[Call]:
    """Return the latest selected calls up to a record, oldest first.

    Raises:
        HookError: if the file cannot be read.
    """
    from ..journal._file import reading

    found, values = wanted.conditions()
    if last is not None:
        found.append("chain.seq <= ?")
        values.append(last)
    conditions = " AND ".join(found)
    with reading(journal.path) as db:
        if wanted.receiver is not None or wanted.outcome in ("failed", "unfinished"):
            rows = [*islice(_among(db, wanted, conditions, values), limit)]
        else:
            statement = f"{_CALL.format(conditions)} ORDER BY time DESC LIMIT ?"
            rows = db.execute(statement, [*values, limit]).fetchall()
        return [
            Call(run, json.loads(data), _marks(db, number, call_id))
            for number, run, call_id, data in reversed(rows)
        ]


def _among(
    db: sqlite3.Connection, wanted: Wanted, conditions: str, values: list[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the selected calls that are unfinished or have a receiver's event, latest first."""
    is_named = wanted.receiver is not None
    turns = f"receiver {'= ?' if is_named else 'IS NOT NULL'}"
    turns += " AND type = 'failed'" * (wanted.outcome == "failed")
    statement = f"SELECT run, call_id FROM chain WHERE {turns} ORDER BY seq DESC"
    if not is_named and wanted.outcome == "unfinished":
        statement = _OPEN
    one = _CALL.format(f"run = ? AND call_id = ? AND {conditions}")
    if is_named and wanted.outcome == "unfinished":
        one += (
            " AND NOT EXISTS (SELECT 1 FROM chain AS last WHERE last.run = chain.run "
            "AND last.call_id = chain.call_id AND last.type = 'finished')"
        )
    seen = set[tuple[int, int]]()
    for call in db.execute(statement, [wanted.receiver] if is_named else []):
        if call not in seen:
            seen.add(call)
            yield from db.execute(one, [*call, *values]).fetchall()


def _marks(db: sqlite3.Connection, number: int, call_id: int) -> tuple[dict[str, Any], ...]:
    """Return the events of the receivers in one call."""
    rows = db.execute(
        "SELECT data FROM chain WHERE run = ? AND call_id = ? AND receiver IS NOT NULL "
        "ORDER BY seq", [number, call_id],
    )
    return tuple(json.loads(data) for (data,) in rows)


def switches(journal: Journal, wanted: Wanted, since: float) -> list[dict[str, Any]]:
    """Return the switches made by operators since a time, for the selected hook and receiver."""
    if wanted.outcome is not None or wanted.session is not None:
        return []
    rows = asked(
        journal,
        "SELECT data FROM chain WHERE seq IN (SELECT seq FROM chain INDEXED BY by_receiver "
        "WHERE receiver IS NOT NULL AND type = 'switched' AND hook = ifnull(?, hook) "
        "AND receiver = ifnull(?, receiver)) AND time >= ? ORDER BY seq",
        [wanted.hook, wanted.receiver, max(since, float(wanted.since or 0))],
    )
    return [json.loads(data) for (data,) in rows]


def call_named(journal: Journal, named: str) -> tuple[int, str, int]:
    """Parse `17` or `RUN:17`. Return the number and id of the run, and the number of the call.

    Raises:
        HookError: if the call does not exist, or if several calls match.
    """
    begins, _, number = named.rpartition(":")
    if not number.isdecimal():
        raise HookError(f"{named!r:.60} is not the number of a call: write 17, or RUN:17")
    runs = asked(journal, "SELECT number, id FROM runs WHERE substr(id, 1, ?) = ? ORDER BY number",
                 [len(begins), begins])  # fmt: skip
    matching = [
        (run, name) for run, name in runs
        if asked(journal, "SELECT 1 FROM chain WHERE run = ? AND call_id = ? LIMIT 1",
                 [run, int(number)])
    ]  # fmt: skip
    if not matching:
        raise HookError(f"{journal.path} has no call {named}: list the calls with hookbus log")
    if len(matching) > 1:
        names = ", ".join(f"{name}:{number}" for _, name in matching[-3:])
        raise HookError(f"{len(matching)} runs have a call {number}: add the run, such as {names}")
    return (*matching[0], int(number))
