"""A store: requests and answers in a file, for several processes, and for longer than one lives."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from typing import Any

import attrs

from .. import HookError
from .._keywords import named_options
from ..exceptions import did_you_mean
from ._memory import check_answer, check_seconds
from ._schema import opened, prepared
from ._words import Approved, Case, Denied, Parked, Request


@named_options
class Store:
    """Where requests are parked until somebody answers: `bus.approver(Store("approvals.db"))`.

    A call that asks for a yes is blocked with `ApprovalPending`; made again after the yes, in this
    process or another one, it passes once. The file is a SQLite database of its own, which several
    processes may use; what was acknowledged is on the disk.

    Args:
        path: the file; it is made where there is none.
        expires: for how many seconds an answer holds.

    Raises:
        HookError: if the file cannot be used, or is none of these.
    """

    name = "Store"

    def __init__(self, path: str | os.PathLike[str], *, expires: float = 3600.0) -> None:
        check_seconds("expires", expires)
        self._path, self.key = prepared(path)
        self._expires, self._is_closed = expires, False

    def pending(self) -> list[Request]:
        """Return the requests that wait for an answer, the oldest first."""
        return [case.request for case in self._cases("answer IS NULL")]

    def history(self) -> list[Case]:
        """Return all requests and what became of them, the oldest first."""
        return self._cases("1")

    def get(self, id: str) -> Case:
        """Return a request and what became of it.

        Raises:
            HookError: if there is no such request.
        """
        found = self._cases("id = ?", id)
        if not found:
            known = [request.id for request in self.pending()]
            raise HookError(f"{self._path} has no request {id!r:.40}{did_you_mean(id, known)}")
        return found[0]

    def answer(self, id: str, answer: Approved | Denied) -> None:
        """Answer a request; the first answer is final. It is on the disk when this returns.

        Raises:
            HookError: for what is no answer, or a request that is unknown or has one.
        """
        case = self.get(id)
        check_answer(answer, case.request)
        now = time.time()
        remembered = answer.remember if isinstance(answer, Approved) else None
        with self._opened() as db:
            changed = db.execute(
                "UPDATE requests SET answer = ?, answered = ?, until = ? "
                "WHERE id = ? AND answer IS NULL",
                [_told(answer), now, now + (remembered or self._expires), id],
            ).rowcount
        if not changed:
            said = self.get(id).answer
            word = "approved" if isinstance(said, Approved) else "denied"
            by = f" by {said.by}" if said is not None and said.by else ""
            raise HookError(f"request {id} has its answer already: {word}{by}")

    def close(self) -> None:
        """Ask and answer nothing more; a call that asks is blocked."""
        self._is_closed = True

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Use the answer to such a call, or park it, as the bus does."""
        try:
            return self._settled(request)
        except HookError as error:
            raise HookError(str(error)) from None  # by this room alone: its words may be said

    def _settled(self, request: Request) -> Approved | Denied | Parked:
        with self._opened() as db:
            row = db.execute(
                "SELECT * FROM requests WHERE digest = ? ORDER BY number DESC LIMIT 1",
                [request.digest],
            ).fetchone()
            case = None if row is None else _case(row)
            if case is not None and case.state == "pending":
                return Parked(case.request.id)
            if case is None or case.state in ("used", "expired") or case.answer is None:
                db.execute(
                    "INSERT INTO requests (id, digest, request, asked) VALUES (?, ?, ?, ?)",
                    [request.id, request.digest, _written(request), time.time()],
                )
                return Parked(request.id)
            answer = case.answer
            if isinstance(answer, Approved) and answer.remember is None:
                db.execute(
                    "UPDATE requests SET used = ? WHERE id = ?", [time.time(), case.request.id]
                )
        return answer

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Likewise in a task, which does not hold the loop up."""
        answered = await asyncio.to_thread(self._asked, request)
        if isinstance(answered, HookError):
            raise answered
        return answered

    def _asked(self, request: Request) -> Approved | Denied | Parked | HookError:
        try:
            return self.ask(request)
        except HookError as error:
            return error

    def _opened(self) -> Any:
        if self._is_closed:
            raise HookError(f"the store {self._path} is closed")
        return opened(self._path)

    def _cases(self, condition: str, *values: Any) -> list[Case]:
        with self._opened() as db:
            rows = db.execute(
                f"SELECT * FROM requests WHERE {condition} ORDER BY number", values
            ).fetchall()
        return [_case(row) for row in rows]


def _case(row: sqlite3.Row | tuple[Any, ...]) -> Case:
    _, _, _, request, asked, told, answered, until, used = row
    answer = None if told is None else _answer(json.loads(told))
    if answer is None:
        state = "pending"
    elif used is not None:
        state = "used"
    elif until <= time.time():
        state = "expired"
    else:
        state = "approved" if isinstance(answer, Approved) else "denied"
    return Case(
        request=Request(**json.loads(request)), state=state, answer=answer, asked=asked,
        answered=answered, until=until, used=used,
    )  # fmt: skip


def _written(request: Request) -> str:
    """Return a request as JSON; what only decorates it may be anything, and is told in words."""
    return json.dumps(attrs.asdict(request), default=repr)


def _told(answer: Approved | Denied) -> str:
    return json.dumps({"kind": type(answer).__name__, **attrs.asdict(answer)})


def _answer(told: dict[str, Any]) -> Approved | Denied:
    kind = told.pop("kind")
    return Approved(**told) if kind == "Approved" else Denied(**told)
