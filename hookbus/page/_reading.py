"""Read a journal for the page: new records, older calls, and one call with its nested calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from ..journal import Journal, Record
from ..journal._file import reading

LOOKED_THROUGH: Final = 50_000
"""The number of records after the start of a call to search for nested calls."""
OLDER: Final = 200
"""The number of records to load for one page of older calls."""

_TYPES: Final = {
    "blocked": "blocked", "pending": "blocked", "shadow": "blocked",
    "failed": "failed", "failed open": "failed",
    "changed": "mutated", "running": "started",
}  # fmt: skip
"""The record type to search for, by the outcome of a call. For other outcomes, it is `finished`.
"""


class Reading:
    """Reads a journal in batches while other processes write to it."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal if isinstance(journal, Journal) else Journal.reading(journal)

    def last(self) -> int:
        """Return the number of the last record, or 0 if there is none."""
        found = self._asked("SELECT seq FROM records ORDER BY seq DESC LIMIT 1")
        return int(found[0][0]) if found else 0

    def problems(self) -> dict[str, str | None]:
        """Return the problem of each guard that reloads files, or None if the guard uses the new
        content. If there is a problem, the earlier content remains in force.
        """
        found = self._asked(
            "SELECT json_extract(data, '$.receiver'), json_extract(data, '$.problem') "
            "FROM records WHERE type = 'hookbus.reloaded' ORDER BY seq DESC LIMIT 100"
        )
        return dict(reversed(found))

    def after(self, seq: int, most: int) -> list[Record]:
        """Return at most `most` records after this number."""
        return [*islice(self._journal.records(after=seq), most)]

    def before(self, seq: int, filters: Mapping[str, str]) -> tuple[list[Record], int | None]:
        """Return the records of older calls, and the number to continue from if there are more
        calls.

        Args:
            seq: the number of a record.
            filters: parts of `hook`, `session` and `receiver`, and an `outcome`. Some of the
                returned calls may not match.
        """
        outcome, receiver = filters.get("outcome"), filters.get("receiver")
        conditions: dict[str, Any] = {"seq < ?": seq}
        if outcome in _TYPES or not receiver:
            conditions["type = ?"] = f"hookbus.{_TYPES.get(outcome or '', 'finished')}"
        if outcome and outcome not in _TYPES and not receiver:
            conditions["json_extract(data, '$.outcome') = ?"] = outcome
        parts = {
            "subject": filters.get("hook"), "json_extract(data, '$.receiver')": receiver,
            "json_extract(data, '$.baggage.session')": filters.get("session"),
        }  # fmt: skip
        for place, part in parts.items():
            if part:
                conditions[f"instr(lower({place}), lower(?)) > 0"] = part
        found = self._asked(
            "SELECT seq, run, json_extract(data, '$.call_id') FROM records WHERE "
            f"{' AND '.join(conditions)} ORDER BY seq DESC LIMIT {OLDER}",
            *conditions.values(),
        )
        calls = {(run, call) for _, run, call in found if call}
        records = [record for call in calls for record in self._journal.records(call=call)]
        more = found[-1][0] if len(found) == OLDER else None
        return sorted(records, key=lambda record: record.seq), more

    def of_call(self, run: str, call: int) -> Iterator[Record | None]:
        """Yield the records from the start of a call to its end, including those of other calls.
        None marks a gap if there are too many records.
        """
        own = [*self._journal.records(call=(run, call))]
        if not own:
            return
        is_over = any(each.type == "hookbus.finished" for each in own)
        seq = own[0].seq - 1
        for each in islice(self._journal.records(after=seq), LOOKED_THROUGH):
            if is_over and each.seq > own[-1].seq:
                return
            seq = each.seq
            yield each
        if seq < own[-1].seq:
            yield None
            yield from (each for each in own if each.seq > seq)

    def _asked(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a query on the views of the file."""
        with reading(self._journal.path) as db:
            return db.execute(statement, values).fetchall()
