"""Pending approvals, as the page shows them, and the answers from the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .. import HookError
from .._external.platform import user_name
from .._external.strict_json import strict_json
from .._views.values import changed
from ..approvals import ApprovalRecord, Approved, Denied, Request
from ..approvals._standing import patterned


class Waiting:
    """The pending requests of a store or an inbox, as the page shows them.

    Args:
        approvals: the store or inbox. A store also has a history.
    """

    def __init__(self, approvals: Any) -> None:
        self._approvals = approvals
        self._since: dict[str, dict[str, Any] | None] = {}
        self._questions: dict[str, str] = {}

    def shown(self) -> list[dict[str, Any]]:
        """Return all pending requests in full, with complex values as JSON. `since` describes the
        changes since the last request for the same tool.
        """
        pending = self._approvals.pending()
        if any(request.id not in self._since for request in pending):
            cases: list[ApprovalRecord] = getattr(self._approvals, "history", list)()
            self._since = {request.id: since(request, cases) for request in pending}
        return [
            {**_whole(request), "since": self._since[request.id], **self._people(request)}
            for request in pending
        ]

    def rules(self) -> list[dict[str, Any]]:
        """Return the standing approvals that can still approve calls. An inbox has none."""
        return [
            {"id": each.id, "by": each.by, "used": each.used, "uses": each.rule.uses,
             "until": each.until, "question": self._question_of(each.request),
             "arguments": ", ".join(f"{k}={v!r}" for k, v in each.rule.arguments.items())}
            for each in getattr(self._approvals, "rules", list)() if each.is_valid
        ]  # fmt: skip

    def _question_of(self, id: str) -> str:
        """Return the question that a person answered with a rule."""
        if id not in self._questions:
            self._questions[id] = self._approvals.get(id).request.question
        return self._questions[id]

    def _people(self, request: Request) -> dict[str, Any]:
        """Describe the given and the missing approvals of a request that needs several people or a
        role.
        """
        if not request.required:
            return {"approved_by": [], "missing": []}
        case: ApprovalRecord = self._approvals.get(request.id)
        return {"approved_by": case.approved_by, "missing": case.missing}


def _whole(request: Request) -> dict[str, Any]:
    fields = attrs.asdict(request)
    for name in ("arguments", "details", "baggage"):
        fields[name] = json.dumps(fields[name], indent=2, ensure_ascii=False, default=repr)
    return fields


def since(request: Request, cases: Iterable[ApprovalRecord]) -> dict[str, Any] | None:
    """Return when the same tool was last requested, the outcome, and the first difference in each
    argument, or None if it was never requested.

    Args:
        request: the pending request.
        cases: all requests and their outcomes, oldest first.
    """
    last = None
    for case in cases:
        if case.request.id == request.id:
            break
        if _tool(case.request) == _tool(request):
            last = case
    if last is None:
        return None
    before, after = (
        dict(patterned(each.hook, each.arguments)) for each in (last.request, request)
    )
    changes = [changed(f"argument {name!r}", before[name], value)
               for name, value in after.items()
               if name in before and before[name] != value]  # fmt: skip
    changes += [f"argument {name!r} is new" for name in after if name not in before]
    changes += [f"argument {name!r} is gone" for name in before if name not in after]
    return {"asked": last.asked, "state": last.state, "changes": changes}


def _tool(request: Request) -> tuple[Any, ...]:
    is_tool_call = request.hook == "tool_call"
    return request.hook, request.receiver, is_tool_call and request.arguments.get("name")


def answer_of(data: Any, person: str | None) -> Approved | Denied:
    """Return a person's answer, read from the data that the page sends.

    Args:
        data: `answer` ("approve" or "deny"), and optionally `arguments` as edited JSON, `remember`
            in seconds, and `reason`.
        person: the name of the person who is signed in. None means the user of this process,
            because the address of the page was shown only to this user.

    Raises:
        HookError: with a message that describes the problem.
    """
    if not isinstance(data, Mapping) or data.get("answer") not in ("approve", "deny"):
        raise HookError("the answer must be approve or deny")
    by = user_name() if person is None else person
    if data["answer"] == "deny":
        return Denied(by, data.get("reason") or "no reason given")
    edited = data.get("arguments")
    arguments = None if edited is None else strict_json(edited)
    return Approved(by, arguments=arguments, remember=data.get("remember"))
