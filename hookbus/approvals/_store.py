"""The store, which keeps requests and answers in a file that processes share."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import attrs

from .. import HookError
from .._ground.errors import did_you_mean
from .._ground.keywords import named_options
from ._counting import approvers_of, check_open, counted, person_of, signed_answer
from ._in_thread import AskedInThread
from ._memory import check_answer, check_seconds
from ._people import People, Proof
from ._required import missing
from ._schema import opened, prepared
from ._standing import (
    StandingRule,
    add_rule,
    check_rule,
    rules_in,
    use_rule,
    written_request,
)  # fmt: skip
from ._words import (
    ApprovalRecord,
    Approved,
    Denied,
    Kept,
    Parked,
    Request,
    UnknownRequest,
)  # fmt: skip


@named_options
class Store(AskedInThread):
    """Keeps requests in a file until a person answers: `bus.approver(Store("approvals.db"))`.

    A call that requires approval is blocked with `ApprovalPending`. After the approval, make the
    same call again, in this process or another, and it runs once. The file is an SQLite database
    that several processes can use. Every answer is on disk when `answer` returns.

    Args:
        path: the file. A missing file is created, readable by its owner only.
        expires: the number of seconds for which an answer is valid.
        answer_within: the number of seconds for which a request can be answered. After that, it is
            `"expired"`, and the same call creates a new request.
        people: a TOML file or mapping of names to roles, for `Ask(..., roles=..., approvals=...)`.
            The file, and its folder, must belong to you or root and not be writable by everyone;
            the members of its group are trusted. The file is read again for every answer.

    Attributes:
        people: the people, or None.

    Raises:
        HookError: if the file cannot be used, or is not an approval store; or if the people cannot
            be read, or another user could have written them.
    """

    name = "Store"
    program: str | None = None
    is_lasting = True

    def __init__(
        self, path: str | os.PathLike[str], *, expires: float = 3600.0,
        answer_within: float = 86400.0,
        people: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        check_seconds("expires", expires)
        check_seconds("answer_within", answer_within)
        self.people = None if people is None else People(people)
        self._path, self.key = prepared(path)
        self._expires, self._answer_within, self._is_closed = expires, answer_within, False

    def pending(self) -> list[Request]:
        """Return the requests that have no answer yet, oldest first."""
        found = self._cases("answer IS NULL AND lapsed IS NULL AND answer_by > ?", time.time())
        return [case.request for case in found]

    def history(self) -> list[ApprovalRecord]:
        """Return all requests and their outcomes, oldest first."""
        return self._cases("1")

    def get(self, id: str) -> ApprovalRecord:
        """Return a request and its outcome. Raises: UnknownRequest: if the store has no request
        with this id.
        """
        found = self._cases("id = ?", id)
        if not found:
            known = [request.id for request in self.pending()]
            raise UnknownRequest(f"{self._path} has no request {id!r:.40}{did_you_mean(id, known)}")
        return found[0]

    def answer(self, id: str, answer: Approved | Denied, *, proof: Proof | None = None) -> None:
        """Answer a request. The first answer is final, and is on disk when this method returns.

        If a request needs several approvals, or approvals by people with a role, the store collects
        approvals until the request has all of them. A single denial ends the request.

        Args:
            proof: the proven name of the person, which such an approval needs.

        Raises:
            HookError: if the answer is invalid, or the person may not approve the request.
            UnknownRequest: if the store has no request with this id.
            AlreadyAnswered: if the request already has an answer, or this person has already
                approved it.
            RequestExpired: if `answer_within` seconds have passed.
        """
        case, rule, maker = self.get(id), None, ""
        if isinstance(answer, Approved) and answer.rule is not None:
            rule, answer = answer.rule, attrs.evolve(answer, rule=None)
            maker = check_rule(rule, case.request, proof, self.people)
            if answer.by != maker or answer.arguments is not None:
                raise HookError("rule= needs by= to be the proven name, and no arguments=")
        check_answer(answer, case.request)
        if case.request.required and isinstance(answer, Approved):
            person = person_of(self.people, self.key, case.request, answer, proof)
            with self._opened() as db:
                way = "" if proof is None else proof.way
                whole = counted(db, self.people, case.request, (person, way), answer)
                if whole is not None:
                    self._write_answer(db, id, whole)
            return
        with self._opened() as db:
            self._write_answer(db, id, answer)
            if rule is not None:
                add_rule(db, rule, case.request, maker)

    def rules(self) -> list[StandingRule]:
        """Return all standing approvals, oldest first, with the number of calls that each has
        approved."""
        with self._opened() as db:
            return rules_in(db)

    def revoke(self, id: str, *, by: str) -> None:
        """Revoke a standing approval. Calls that are already approved are not affected.

        Args:
            by: the name of the person who revokes it.

        Raises:
            UnknownRequest: if there is no rule with this id, or it is already revoked.
        """
        with self._opened() as db:
            changed = db.execute(
                "UPDATE rules SET revoked = ?, revoked_by = ? WHERE id = ? AND revoked IS NULL",
                [time.time(), by, id],
            ).rowcount
        if not changed:
            raise UnknownRequest(f"{self._path} has no rule {id!r:.40} that can be revoked")

    def answer_signed(self, body: bytes, signature: str) -> None:
        """Answer a request with the JSON body of a webhook that a person has signed.

        Args:
            body: the body as it was received: an object with the `id` of the request, the name `by`
                and `answer`, which is `"approve"` or `"deny"`, and optionally `reason`.
            signature: `sha256=` and the HMAC-SHA256 of the body, in hexadecimal, with the `secret`
                of this person in the file of people.

        Raises:
            HookError: if the body or the signature is not valid; otherwise as in `answer`.
        """
        id, answer, proof = signed_answer(self.people, body, signature)
        self.answer(id, answer, proof=proof)

    def _write_answer(self, db: sqlite3.Connection, id: str, answer: Approved | Denied) -> None:
        """Record the answer of a request, unless it has one or has expired."""
        check_open(db, id)
        now = time.time()
        remembered = answer.remember if isinstance(answer, Approved) else None
        db.execute(
            "UPDATE requests SET answer = ?, answered = ?, until = ? WHERE id = ?",
            [_answer_text(answer), now, now + (remembered or self._expires), id],
        )

    def close(self) -> None:
        """Close the store. Later calls that require approval are blocked."""
        self._is_closed = True

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for the call, or keep the request until it is answered. The bus calls
        this."""
        try:
            return self._settled(request)
        except HookError as error:
            raise HookError(str(error)) from None  # raised here only, so it is safe to show

    def _settled(self, request: Request) -> Approved | Denied | Parked:
        with self._opened() as db:
            row = db.execute(
                "SELECT * FROM requests WHERE digest = ? ORDER BY number DESC LIMIT 1",
                [request.digest],
            ).fetchone()
            case = None if row is None else self._case(db, row)
            is_open = case is None or case.state not in ("approved", "denied")
            if is_open and (by := use_rule(db, self.people, request)) is not None:
                self._lapse(db, request)
                return Kept(by, shown=request.arguments)
            if case is not None and case.state == "pending":
                return Parked(case.request.id)
            if case is None or case.state in ("used", "expired") or case.answer is None:
                now = time.time()
                request = attrs.evolve(request, deadline=now + self._answer_within)
                self._lapse(db, request)
                db.execute(
                    "INSERT INTO requests (id, digest, request, asked, answer_by) "
                    "VALUES (?, ?, ?, ?, ?)",
                    [request.id, request.digest, written_request(request), now, request.deadline],
                )
                return Parked(request.id)
            if isinstance(case.answer, Denied):
                return case.answer
            if case.answer.remember is None:
                db.execute(
                    "UPDATE requests SET used = ? WHERE id = ?", [time.time(), case.request.id]
                )
        return Kept.of(case.answer, case.request.arguments)

    @staticmethod
    def _lapse(db: sqlite3.Connection, request: Request) -> None:
        db.execute(
            "UPDATE requests SET lapsed = ? WHERE digest = ? AND answer IS NULL",
            [time.time(), request.digest],
        )

    def _opened(self) -> Any:
        if self._is_closed:
            raise HookError(f"the store {self._path} is closed")
        return opened(self._path)

    def _cases(self, condition: str, *values: Any) -> list[ApprovalRecord]:
        with self._opened() as db:
            rows = db.execute(
                f"SELECT * FROM requests WHERE {condition} ORDER BY number", values
            ).fetchall()
            return [self._case(db, row) for row in rows]

    def _case(self, db: sqlite3.Connection, row: tuple[Any, ...]) -> ApprovalRecord:
        case = _case(row)
        if not case.request.required:
            return case
        approvers = approvers_of(db, self.people, case.request)
        left = missing(case.request.required, approvers)
        # If a person who approved has lost the role since, the approval is void.
        state = "expired" if case.state == "approved" and left else case.state
        return attrs.evolve(case, state=state, approved_by=tuple(approvers), missing=left)


def _case(row: tuple[Any, ...]) -> ApprovalRecord:
    _, _, _, request, asked, answer_by, lapsed, text, answered, until, used = row
    answer = None if text is None else _answer(json.loads(text))
    if answer is None:
        is_late = lapsed is not None or answer_by <= time.time()
        state = "expired" if is_late else "pending"
    elif used is not None:
        state = "used"
    elif until <= time.time():
        state = "expired"
    else:
        state = "approved" if isinstance(answer, Approved) else "denied"
    return ApprovalRecord(
        request=Request(**json.loads(request)), state=state, answer=answer, asked=asked,
        answered=answered, until=until, used=used,
    )  # fmt: skip


def _answer_text(answer: Approved | Denied) -> str:
    return json.dumps({"kind": type(answer).__name__, **attrs.asdict(answer)})


def _answer(data: dict[str, Any]) -> Approved | Denied:
    kind = data.pop("kind")
    return Approved(**data) if kind == "Approved" else Denied(**data)
