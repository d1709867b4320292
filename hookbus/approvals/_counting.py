"""Counts the approvals of a request, and checks who may approve it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from typing import Any

import attrs

from .. import HookError
from .._approval.people import Person, folded
from ._people import People, Proof
from ._required import missing, name_mark
from ._words import AlreadyAnswered, Approved, Denied, Request, RequestExpired


def person_of(
    people: People | None, key: bytes, request: Request, answer: Approved, proof: Proof | None
) -> Person:
    """Return the person whose approval counts for a request.

    Raises:
        HookError: if the name is not proven, or the person is not allowed to approve this request.
    """
    which = f"request {request.id} needs {' and '.join(missing(request.required, {}))}"
    if people is None:
        raise HookError(f"{which}: pass people= to the Store, or --people FILE")
    if proof is None:
        raise HookError(
            f"{which}, and the name {answer.by!a} is not proven: answer on the command line, on a "
            "page with --people, with a signed webhook, or pass proof="
        )
    if answer.by != proof.name:
        raise HookError(f"the answer is by {answer.by!a}, but the {proof.way} proves the name "
                        f"{proof.name!a}: leave out the other name")  # fmt: skip
    if request.asker and name_mark(key, proof.name) == request.asker:
        raise HookError(f"{which}: {proof.name!a} made the call, and may not approve it")
    person = people.read().get(proof.name)
    if person is None:
        raise HookError(f"{which}: {proof.name!a} is not one of the people in people.toml")
    if not any(each.is_open_to(person.roles) for each in request.required):
        raise HookError(f"{which}: {proof.name!a} has none of these roles")
    if sum(each.approvals for each in request.required) > 1:
        for name in ("arguments", "remember"):
            if getattr(answer, name) is not None:
                raise HookError(f"{which}, which must all be for the same call: leave out {name}=")
    return person


def check_open(db: sqlite3.Connection, id: str) -> None:
    """Check that a request can still be answered.

    Raises:
        AlreadyAnswered: if the request already has an answer.
        RequestExpired: if the request was not answered in time.
    """
    answer, is_late = db.execute(
        "SELECT answer, lapsed IS NOT NULL OR answer_by <= ? FROM requests WHERE id = ?",
        [time.time(), id],
    ).fetchone()
    if answer is not None:
        before = json.loads(answer)
        kind = "denied" if before["kind"] == "Denied" else "approved"
        raise AlreadyAnswered(f"request {id} is already {kind} by {before['by']}")
    if is_late:
        raise RequestExpired(f"request {id} has expired: make the call again to create a new "
                             "request")  # fmt: skip


def counted(
    db: sqlite3.Connection, people: People | None, request: Request, given: tuple[Person, str],
    answer: Approved,
) -> Approved | None:  # fmt: skip
    """Record a person's approval in a transaction. Return the combined answer of all approvers, or
    None while an approval is missing.

    Raises:
        AlreadyAnswered: if the request already has an answer, or an approval by this person.
        RequestExpired: if the request can no longer be answered.
    """
    person, way = given
    check_open(db, request.id)
    try:
        db.execute(
            "INSERT INTO approvals (request, folded, name, roles, way, approved) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [request.id, folded(person.name), person.name, json.dumps(sorted(person.roles)), way,
             time.time()],
        )  # fmt: skip
    except sqlite3.IntegrityError:
        raise AlreadyAnswered(
            f"request {request.id} is already approved by {person.name}: another person must "
            "approve it, too"
        ) from None
    approvers = approvers_of(db, people, request)
    if missing(request.required, approvers):
        return None
    return attrs.evolve(answer, by=", ".join(approvers))


def approvers_of(
    db: sqlite3.Connection, people: People | None, request: Request
) -> dict[str, Iterable[str]]:
    """Return the people who have approved a request, with their current roles.

    Without a file of people, return the roles that they had at the time of the approval.
    """
    rows = db.execute(
        "SELECT name, roles FROM approvals WHERE request = ? ORDER BY number", [request.id]
    ).fetchall()
    if people is None or not rows:
        return {name: json.loads(roles) for name, roles in rows}
    now = people.read()
    return {name: now[name].roles for name, _ in rows if name in now}


def signed_answer(
    people: People | None, body: bytes, signature: str
) -> tuple[str, Approved | Denied, Proof]:
    """Return the id, the answer and the proven name in the signed body of a webhook.

    Raises:
        HookError: if the body or its signature is not valid.
    """
    if people is None:
        raise HookError("answer_signed() needs the people: pass people= to the Store")
    try:
        given = json.loads(body)
        id, by, said = (given[name] for name in ("id", "by", "answer"))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise HookError("the body must be a JSON object with id, by and answer") from None
    texts: tuple[Any, ...] = (id, by, said, given.get("reason", ""), signature)
    if not all(isinstance(text, str) for text in texts) or said not in ("approve", "deny"):
        raise HookError("id, by and reason must be strings, and answer must be approve or deny")
    if not people.is_signed_by(by, body, signature):
        raise HookError(f"the signature does not match a key of {by!a:.60}: the answer is refused")
    reason = given.get("reason") or "no reason given"
    return id, Approved(by) if said == "approve" else Denied(by, reason), Proof(by, "webhook")
