"""Keep the approvals of a fleet in Postgres: the requests of agents on several machines, and the
answers.
"""

from __future__ import annotations

import json
import logging
import secrets
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
    Proof,
    Request,
    RequestExpired,
    Rule,
    StandingRule,
    UnknownRequest,
    check_answer,
)
from ..approvals._in_thread import AskedInThread
from ..approvals._memory import check_seconds, describe_answer
from ..approvals._required import missing
from ..approvals._standing import (
    Exact,
    check_rule,
    is_match,
    read_rule,
    rule_of,
    written_request,
    written_rule,
)
from ..approvals._words import Kept
from ._connecting import Server
from ._outcomes import UNPROVEN, answer_of, check_outcome, record_of

_log: Final = logging.getLogger("hookbus")

_NO_PEOPLE: Final = (
    "{} requires roles or several approvals, which need people: the owner of the fleet lists them "
    "with Fleet.make(people=...)"
)


class Approvals(AskedInThread):
    """An approver that keeps each request in the database of the fleet until a person answers.
    `Fleet.make(people=...)` lists the people and their roles.

    Attributes:
        program: the name that replaces `__main__` in the digest of a request, or None.
        people: whether a request can require people with roles. It is always True.
    """

    name = "Fleet"
    is_lasting = True
    people = True

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
            HookError: if this role is not an operator.
        """
        return [each.request for each in self._records(None, is_pending=True)]

    def history(self) -> list[ApprovalRecord]:
        """Return all requests and their outcomes, oldest first.

        Raises:
            HookError: if this role is not an operator.
        """
        return self._records(None)

    def get(self, id: str) -> ApprovalRecord:
        """Return a request and its outcome.

        Raises:
            UnknownRequest: if the fleet has no request with this id.
            HookError: if this role is not an operator.
        """
        is_id = isinstance(id, str) and id.isascii() and "\0" not in id
        found = self._records(id) if is_id else []
        if not found:
            known = did_you_mean(str(id), [each.id for each in self.pending()])
            raise UnknownRequest(f"the fleet has no request {id!r:.40}{known}")
        return found[0]

    def answer(self, id: str, answer: Approved | Denied, *, proof: Proof | None = None) -> None:
        """Answer a request. The first answer is final. When this method returns, the server has
        written the answer to disk.

        A request may require several approvals, or approvals by people with a role. It then stays
        open until it has all of them, or until a person denies it.

        Args:
            proof: the proven name of the person, which these approvals and rules require. None
                means the role of this connection. A portal can prove the names of other people.

        Raises:
            HookError: if the answer is invalid, if the person may not approve the request, or if
                this role is not an operator.
            UnknownRequest: if the fleet has no request with this id.
            AlreadyAnswered: if the request already has an answer, or this person has already
                approved it.
            RequestExpired: if `answer_within` seconds have passed.
        """
        request, rule = self.get(id).request, None
        if isinstance(answer, Approved) and answer.rule is not None:
            rule, answer = answer.rule, attrs.evolve(answer, rule=None)
            proof = self._proven("rule= needs a proven name", answer, proof)
            check_rule(rule, request, proof, None)
            if answer.arguments is not None:
                raise HookError("rule= cannot be combined with arguments=: leave one of them out")
        check_answer(answer, request)
        if request.required and isinstance(answer, Approved):
            which = f"request {id} needs {' and '.join(missing(request.required, {}))}"
            proof = self._proven(which, answer, proof)
            outcome = self._approve(id, answer, proof)
            if outcome != "ended":
                check_outcome(outcome, which, id, answer)
                return
        elif self._is_first(id, answer, rule):
            return
        self._refuse(id)

    def rules(self) -> list[StandingRule]:
        """Return all standing approvals, oldest first, each with the number of its uses.

        Raises:
            HookError: if this role is not an operator.
        """
        found: list[StandingRule] = []
        for row in self._call("read_rules"):
            with _ignoring_unreadable():
                found.append(rule_of(row))
        return found

    def revoke(self, id: str, *, by: str) -> None:
        """Revoke a standing approval. Calls that it has already approved are not affected.

        Args:
            by: the name of the person who revokes the approval.

        Raises:
            UnknownRequest: if no rule has this id, or if the rule is already revoked.
            HookError: if this role is not an operator.
        """
        if not self._call("revoke", id, by)[0][0]:
            raise UnknownRequest(f"the fleet has no rule {id!r:.40} that can be revoked")

    @property
    def person(self) -> str:
        """The name of the person that the role of this connection proves.

        Raises:
            HookError: if this role is not an operator.
        """
        return str(self._call("read_person")[0][0])

    def _proven(self, which: str, answer: Approved, proof: Proof | None) -> Proof:
        proven = proof or Proof(self.person, "Postgres role")
        if answer.by != proven.name:
            raise HookError(
                f"{which}, and the name {answer.by!a} is not proven: the answer is by "
                f"{answer.by!a}, but the {proven.way} proves the name {proven.name!a}"
            )
        return proven

    def _approve(self, id: str, answer: Approved, proof: Proof) -> str:
        edited = None if answer.arguments is None else json.dumps(dict(answer.arguments))
        remember = None if answer.remember is None else float(answer.remember)
        values = proof.name, proof.way, edited, remember, self._expires
        return str(self._call("approve", id, *values)[0][0])

    def _is_first(self, id: str, answer: Approved | Denied, rule: Rule | None) -> bool:
        """Record the answer, and return True. Return False if the request is already answered or
        has expired.
        """
        remembered = answer.remember if isinstance(answer, Approved) else None
        kind = "approved" if isinstance(answer, Approved) else "denied"
        text, seconds = json.dumps(attrs.asdict(answer)), float(remembered or self._expires)
        given = text, remembered is not None, seconds
        if rule is None:
            return bool(self._call("answer", id, kind, *given)[0][0])
        made = secrets.token_hex(4), written_rule(rule), rule.uses
        until = None if rule.seconds is None else float(rule.seconds)
        outcome = self._call("answer_with_rule", id, answer.by, *given, *made, until)[0][0]
        if outcome == "unknown":
            raise HookError(f"{answer.by!a} is not one of the people of the fleet, who alone can "
                            "make a rule")  # fmt: skip
        if outcome == "unproven":
            raise HookError(UNPROVEN.format("rule= needs a proven name", answer.by))
        return bool(outcome == "made")

    def _refuse(self, id: str) -> None:
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
        """Return the answer for the call, or keep the request until it is answered. Only the bus
        calls this method.
        """
        try:
            state, id, asked, answered = self._asked_once(request, has_compared=False)
            if state == "rules" and isinstance(request, Exact):
                if (kept := self._use_rule(request, json.loads(answered))) is not None:
                    return kept
                state, id, asked, answered = self._asked_once(request, has_compared=True)
            if state == "no people":
                raise HookError(_NO_PEOPLE.format(request.required[0].receiver))
        except HookError as error:
            raise error.with_traceback(None) from None  # raised here only: safe to show
        if state == "pending":
            return Parked(id)
        answer = answer_of(state, answered)
        if isinstance(answer, Denied):
            return answer
        return Kept.of(answer, json.loads(asked)["arguments"])

    def _asked_once(self, request: Request, *, has_compared: bool) -> tuple[Any, ...]:
        required = json.dumps([attrs.asdict(each) for each in request.required])
        facts = written_request(request), self._answer_within, required, request.asker
        is_done = has_compared or not request.scope or not isinstance(request, Exact)
        values = request.id, request.digest, *facts, request.scope, is_done
        return self._call("ask", *values)[0]

    def _use_rule(self, request: Exact, rules: list[Any]) -> Kept | None:
        """Count a use of the first rule that approves the call, and return its answer, or None."""
        for id, written in rules:
            is_for_call = False
            with _ignoring_unreadable():
                is_for_call = is_match(read_rule(written), request.real)
            if is_for_call:
                by = self._call("use_rule", id, request.scope, request.digest)[0][0]
                if by is not None:
                    return Kept(f"{by}, by rule {id}", shown=request.arguments)
        return None

    def _call(self, function: str, *values: Any) -> list[tuple[Any, ...]]:
        if self._is_closed:
            raise HookError("the approvals of the fleet are closed")
        return self._server.call(function, *values)

    def _records(self, id: str | None, *, is_pending: bool = False) -> list[ApprovalRecord]:
        found: list[ApprovalRecord] = []
        rows = self._call("read_records", id, is_pending)
        for row in rows:
            # The credentials of an agent can store any text. It must not hide the other requests.
            with _ignoring_unreadable():
                found.append(record_of(*row))
        if len(found) < len(rows):
            _log.error(
                "%s requests in the fleet cannot be read, so no operator can approve them",
                len(rows) - len(found),
            )
        return found


def _ignoring_unreadable() -> suppress:
    """Skip invalid text that an agent stored, because it must not hide other rows."""
    return suppress(HookError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
