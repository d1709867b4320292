"""Read the records of requests on the server of a fleet, and explain rejected approvals."""

from __future__ import annotations

import json
from typing import Final

from .. import HookError
from ..approvals import AlreadyAnswered, ApprovalRecord, Approved, Denied, Request
from ..approvals._required import missing

UNPROVEN: Final = (
    "{}, and the name {!a} is not proven: connect as this role, or as one of Fleet.make(portals=)"
)


def check_outcome(outcome: str, which: str, id: str, answer: Approved) -> None:
    """Raise an exception for an approval that the server rejected.

    Raises:
        AlreadyAnswered: if this person has already approved the request.
        HookError: if this person may not approve the request.
    """
    name, edited = answer.by, "remember" if answer.arguments is None else "arguments"
    reasons = {
        "unproven": UNPROVEN.format(which, name),
        "unknown": f"{which}: {name!a} is not one of the people of the fleet",
        "asker": f"{which}: {name!a} made the call, and may not approve it",
        "no role": f"{which}: {name!a} has none of these roles",
        "edited": f"{which}, which must all be for the same call: leave out {edited}=",
    }
    if outcome == "twice":
        raise AlreadyAnswered(
            f"request {id} is already approved by {name}: another person must approve it, too"
        )
    if outcome != "counted":
        raise HookError(reasons[outcome])


def record_of(
    id: str, digest: str, state: str, request: str, answer: str | None, asked: float,
    answer_by: float, answered: float | None, until: float | None, used: float | None,
    required: str, asker: str, scope: str, approved_by: str | None,
) -> ApprovalRecord:  # fmt: skip
    """Return the record that a row of `read_records` represents."""
    # The text is an agent's: it must not name another request, which a person would then approve.
    shown = {
        **json.loads(request), "id": id, "digest": digest, "deadline": answer_by,
        "required": json.loads(required), "asker": asker, "scope": scope,
    }  # fmt: skip
    made, approvers = Request(**shown), dict(json.loads(approved_by or "[]"))
    left = missing(made.required, approvers)
    if state == "approved" and left:
        state = "expired"  # a person who approved has lost the role since
    kind = None if answer is None else "denied" if "reason" in json.loads(answer) else "approved"
    return ApprovalRecord(
        request=made, state=state,
        answer=None if kind is None or answer is None else answer_of(kind, answer),
        asked=asked, answered=answered, until=until, used=used,
        approved_by=tuple(approvers), missing=left,
    )  # fmt: skip


def answer_of(kind: str, text: str) -> Approved | Denied:
    """Return the answer that a JSON text from the server represents."""
    made: type[Approved | Denied] = Approved if kind == "approved" else Denied
    return made(**json.loads(text))
