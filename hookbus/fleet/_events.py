"""Read the events of a fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, Self

from .. import HookError
from ..journal import Record
from ._connecting import Server

PAGE: Final = 200


class Events:
    """An iterator over the events that a named reader has not committed yet. It works like the
    cursor of a journal. A reader without a name gets all events and cannot commit.

    The events of a run keep their order. Iteration ends after the last event. Iterate again to get
    later events. An event becomes visible after all transactions that began before its own
    transaction have ended.
    """

    def __init__(self, server: Server, name: str | None) -> None:
        self._server, self._name = server, name
        self._page: Iterator[tuple[tuple[str, int], Record]] = iter(())
        self.rewind()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        for position, record in self._page:
            self._seen = position
            return record
        rows = self._server.call("read_events", *self._seen, PAGE)
        self._page = iter([((tx, seq), _record(seq, id, body)) for tx, seq, id, body in rows])
        if not rows:
            raise StopIteration
        return next(self)

    def commit(self) -> None:
        """Commit all events up to the last event that this reader has returned.

        Raises:
            HookError: if the position cannot be written, or if this reader has no name.
        """
        self._server.call("commit_reader", self._named(), *self._seen)

    def rewind(self) -> None:
        """Restart after the last event that any reader with this name has committed. A reader
        without a name restarts at the first event.

        Raises:
            HookError: if the position cannot be read.
        """
        [(tx, seq)] = [("0", 0)]
        if self._name is not None:
            [(tx, seq)] = self._server.call("open_reader", self._name)
        self._page, self._seen = iter(()), (str(tx), int(seq))

    def lag(self) -> int:
        """Return the number of events that are not committed yet.

        Raises:
            HookError: if the events cannot be counted, or if this reader has no name.
        """
        return int(self._server.call("count_after", self._named())[0][0])

    def forget(self) -> None:
        """Delete the reader. A new reader with the same name starts at the first event.

        Raises:
            HookError: if the reader cannot be deleted, or if this reader has no name.
        """
        self._server.call("forget_reader", self._named())

    def _named(self) -> str:
        if self._name is None:
            raise HookError("this reader has no name, so it has no position: use events(name)")
        return self._name


def _record(seq: int, id: str, body: str) -> Record:
    try:
        found = json.loads(body)
        return Record(seq=seq, id=id, baggage=found["data"].get("baggage") or {}, **found)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        # The credentials of an agent can publish any text. A reader gets it and goes on.
        return Record(
            seq=seq, id=id, source="", type="hookbus.unreadable", subject="", time=0.0,
            data={"body": body}, run="", baggage={},
        )  # fmt: skip
