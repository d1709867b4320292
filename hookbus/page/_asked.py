"""The approvals that wait: what a person is shown of them, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .. import HookError
from .._platform import user_name
from .._views.values import changed
from ..approvals import ApprovalRecord, Approved, Denied, Request


class Waiting:
    """What waits at a store or an inbox, as the page shows it.

    Args:
        approvals: where it waits; a store has a history, too.
    """

    def __init__(self, approvals: Any) -> None:
        self._approvals = approvals
        self._since: dict[str, dict[str, Any] | None] = {}

    def shown(self) -> list[dict[str, Any]]:
        """Return all that waits, each request whole, what is no text or number as JSON; and in
        `since` what is new since its tool was last asked for.
        """
        pending = self._approvals.pending()
        if any(request.id not in self._since for request in pending):
            cases: list[ApprovalRecord] = getattr(self._approvals, "history", list)()
            self._since = {request.id: since(request, cases) for request in pending}
        return [{**_whole(request), "since": self._since[request.id]} for request in pending]


def _whole(request: Request) -> dict[str, Any]:
    told = attrs.asdict(request)
    for name in ("arguments", "details", "baggage"):
        told[name] = json.dumps(told[name], indent=2, ensure_ascii=False, default=repr)
    return told


def since(request: Request, cases: Iterable[ApprovalRecord]) -> dict[str, Any] | None:
    """Return when the same tool was last asked for, what became of that, and the first difference
    in each argument; None where it never was.

    Args:
        request: what waits now.
        cases: all requests and what became of them, the oldest first.
    """
    last = None
    for case in cases:
        if case.request.id == request.id:
            break
        if _tool(case.request) == _tool(request):
            last = case
    if last is None:
        return None
    before, after = _arguments(last.request), _arguments(request)
    changes = [changed(name, before[name], value) for name, value in after.items()
               if name in before and before[name] != value]  # fmt: skip
    changes += [f"{name} is new" for name in after if name not in before]
    changes += [f"{name} is gone" for name in before if name not in after]
    return {"asked": last.asked, "state": last.state, "changes": changes}


def _tool(request: Request) -> tuple[Any, ...]:
    is_tool_call = request.hook == "tool_call"
    return request.hook, request.receiver, is_tool_call and request.arguments.get("name")


def _arguments(request: Request) -> dict[str, Any]:
    """Return the arguments of a call; of a `tool_call`, those of its tool."""
    inner = request.arguments.get("arguments") if request.hook == "tool_call" else None
    return dict(inner if isinstance(inner, Mapping) else request.arguments)


def answer_of(said: Any) -> Approved | Denied:
    """Return the answer of a person, as the page sends it.

    Args:
        said: `answer` ("approve" or "deny"), and then `arguments`, as edited, in JSON,
            `remember`, in seconds, and `reason`, where there are any.

    Raises:
        HookError: saying what is wrong with it.
    """
    if not isinstance(said, Mapping) or said.get("answer") not in ("approve", "deny"):
        raise HookError("an answer says approve or deny")
    if said["answer"] == "deny":
        return Denied(_who(), said.get("reason") or "denied on the page")
    edited = said.get("arguments")
    arguments = None if edited is None else strict_json(edited)
    return Approved(_who(), arguments=arguments, remember=said.get("remember"))


def strict_json(text: Any) -> Any:
    """Return what a JSON text says, if it can be read in one way only.

    Raises:
        HookError: for what is no JSON, names a key twice, or is no number.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except RecursionError:
        raise HookError("this is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise HookError(f"this is no JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise HookError(f"the key {name!r} is here twice: keep one")
        made[name] = value
    return made


def _no_number(word: str) -> Any:
    raise HookError(f"{word} is no JSON: write a number")


def _who() -> str:
    """Return whose page this is: whoever started it gave its address away."""
    return user_name()
