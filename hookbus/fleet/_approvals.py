"""The approvals of a fleet: requests and answers in a Postgres, for agents on several machines."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any, Final

import attrs

from .. import HookError
from .._ground.errors import did_you_mean
from ..approvals import (
    AlreadyAnswered,
    ApprovalRecord,
    Approved,
    Denied,
    Parked,
    Request,
    RequestExpired,
    UnknownRequest,
    check_answer,
)
from ..approvals._in_thread import AskedInThread
from ..approvals._memory import check_seconds, describe_answer
from ..approvals._words import Kept
from ._connecting import Server

_log: Final = logging.getLogger("hookbus")


class Approvals(AskedInThread):
    """An approver that keeps requests in the fleet until a person answers, as `approvals.Store`
    keeps them in a file. It does not know people with roles, and no standing approvals.

    Attributes:
        program: the name that replaces `__main__` in what an approval is bound to, or None.
    """

    name = "Fleet"
    is_lasting = True

    def __init__(
        self, server: Server, program: str | None, *, expires: float, answer_within: float
    ) -> None:
        check_seconds("expires", expires)
        check_seconds("answer_within", answer_within)
        self._server, self.program = server, program
        self._expires, self._answer_within = float(expires), float(answer_within)
        self._is_closed = False
        self.key = bytes(server.call("read_key")[0][0])

    def pending(self) -> list[Request]:
        """Return the requests that have no answer yet, oldest first.

        Raises:
            HookError: if this role is not an operator's.
        """
        return [each.request for each in self._records(None, is_pending=True)]

    def history(self) -> list[ApprovalRecord]:
        """Return all requests and their outcomes, oldest first.

        Raises:
            HookError: if this role is not an operator's.
        """
        return self._records(None)

    def get(self, id: str) -> ApprovalRecord:
        """Return a request and its outcome.

        Raises:
            UnknownRequest: if the fleet has no request with this id.
            HookError: if this role is not an operator's.
        """
        is_id = isinstance(id, str) and id.isascii() and "\0" not in id
        found = self._records(id) if is_id else []
        if not found:
            known = did_you_mean(str(id), [each.id for each in self.pending()])
            raise UnknownRequest(f"the fleet has no request {id!r:.40}{known}")
        return found[0]

    def answer(self, id: str, answer: Approved | Denied) -> None:
        """Answer a request; the first answer is final. It is on the server's disk when this method
        returns.

        Raises:
            HookError: if the answer is invalid, or this role is not an operator's.
            UnknownRequest: if the fleet has no request with this id.
            AlreadyAnswered: if the request already has an answer.
            RequestExpired: if `answer_within` seconds have passed.
        """
        check_answer(answer, self.get(id).request)
        remembered = answer.remember if isinstance(answer, Approved) else None
        kind = "approved" if isinstance(answer, Approved) else "denied"
        seconds = float(remembered or self._expires)
        is_first = self._call(
            "answer", id, kind, json.dumps(attrs.asdict(answer)), remembered is not None, seconds
        )[0][0]
        if is_first:
            return
        before = self.get(id).answer
        if before is not None:
            raise AlreadyAnswered(f"request {id} is already {describe_answer(before)}")
        raise RequestExpired(
            f"request {id} has expired: make the call again to create a new request"
        )

    def close(self) -> None:
        """Close the approver. Later calls that require approval are blocked."""
        self._is_closed = True

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for the call, or keep the request until it is answered. The bus calls
        this.
        """
        # Descriptive values that cannot be serialized are written as their repr.
        written = json.dumps(attrs.asdict(request), default=repr)
        try:
            [(state, id, asked, answered)] = self._call(
                "ask", request.id, request.digest, written, self._answer_within
            )
        except HookError as error:
            raise error.with_traceback(None) from None  # raised here only: safe to show
        if state == "pending":
            return Parked(id)
        answer = _answer(state, answered)
        if isinstance(answer, Denied):
            return answer
        return Kept.of(answer, json.loads(asked)["arguments"])

    def _call(self, function: str, *values: Any) -> list[tuple[Any, ...]]:
        if self._is_closed:
            raise HookError("the approvals of the fleet are closed")
        return self._server.call(function, *values)

    def _records(self, id: str | None, *, is_pending: bool = False) -> list[ApprovalRecord]:
        found: list[ApprovalRecord] = []
        rows = self._call("read_requests", id, is_pending)
        for row in rows:
            # The credentials of an agent can store any text. It must not hide the other requests.
            with suppress(ValueError, TypeError, AttributeError, RecursionError):
                found.append(_record(*row))
        if len(found) < len(rows):
            _log.error(
                "%s requests in the fleet cannot be read, so nobody can approve them",
                len(rows) - len(found),
            )
        return found


def _record(
    id: str, digest: str, state: str, request: str, answer: str | None, asked: float,
    answer_by: float, answered: float | None, until: float | None, used: float | None,
) -> ApprovalRecord:  # fmt: skip
    # The text is an agent's: it must not name another request, which a person would then approve.
    shown = {**json.loads(request), "id": id, "digest": digest, "deadline": answer_by}
    kind = None if answer is None else "denied" if "reason" in json.loads(answer) else "approved"
    return ApprovalRecord(
        request=Request(**shown), state=state,
        answer=None if kind is None or answer is None else _answer(kind, answer),
        asked=asked, answered=answered, until=until, used=used,
    )  # fmt: skip


def _answer(kind: str, text: str) -> Approved | Denied:
    made: type[Approved | Denied] = Approved if kind == "approved" else Denied
    return made(**json.loads(text))
