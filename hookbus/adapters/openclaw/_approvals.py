"""Asks for approval before a tool runs. Any answer except an explicit approval blocks the call."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from ..._ground.numbers import is_number
from ._errors import HandlerTimeout
from ._turns import within
from ._values import get, spread

Resolution = Literal["allow-once", "allow-always", "deny", "timeout", "cancelled"]
Approve = Callable[["ApprovalRequest"], Any]

DECISIONS: Final = ("allow-once", "allow-always", "deny")
USUAL_SECONDS: Final = 120.0
MOST_SECONDS: Final = 600.0
_NO_ROUTE: Final = "Plugin approval unavailable (no approval route)"
_FAILED: Final = "Plugin approval required (gateway unavailable)"


@attrs.frozen
class ApprovalRequest:
    """The request that the approver sees, with the params of the pending tool call.

    Attributes:
        plugin_id: the id of the plugin that requires the approval.
        title: at most 80 characters.
        description: at most 512 characters.
        tool: the name of the tool.
        severity: the severity, as the plugin names it.
        scope: the plugin's description of the call's effect, only for display; None if it is
            invalid or too large.
        decisions: the possible decisions.
        seconds: the number of seconds until the request expires.
    """

    plugin_id: str
    title: str
    description: str
    tool: str
    params: Any
    severity: str
    scope: Mapping[str, Any] | None
    decisions: tuple[str, ...]
    seconds: float


def request_of(approval: Any, tool: str, params: Any) -> ApprovalRequest:
    """Return the request to show for a plugin's `requireApproval`."""
    said = get(approval, "allowedDecisions")
    allowed = (
        tuple(dict.fromkeys(each for each in said if each in DECISIONS))
        if isinstance(said, (list, tuple))
        else ()
    )
    return ApprovalRequest(
        str(approval.get("pluginId", "")), _text(get(approval, "title"))[:80],
        _text(get(approval, "description"))[:512], tool, params,
        _text(get(approval, "severity")) or "warning", scope_of(get(approval, "scope")),
        tuple(dict.fromkeys((*(allowed or DECISIONS), "deny"))),
        _seconds(get(approval, "timeoutMs")),
    )  # fmt: skip


async def ask(
    approval: Any, tool: str, params: Any, approve: Approve | None, logger: logging.Logger
) -> str | None:
    """Ask for an approval, and pass the decision to the plugin. Return the reason if the call is
    blocked, or None if it is approved."""
    request = request_of(approval, tool, params)
    if get(approval, "timeoutBehavior") == "allow":
        logger.warning(
            "plugin %r sets timeoutBehavior 'allow', which is ignored: an approval fails closed",
            request.plugin_id,
        )
    resolution: Resolution = "cancelled"
    reason: str | None = _NO_ROUTE
    try:
        if approve is not None:
            resolution, reason = await _decided(request, approve)
    except Exception:
        logger.exception("asking for an approval failed; the call of %s is blocked", tool)
        reason = _FAILED
    finally:  # also if the run is cancelled
        await _tell(approval, resolution, logger)
    return reason


async def _decided(request: ApprovalRequest, approve: Approve) -> tuple[Resolution, str | None]:
    import asyncio

    asked = asyncio.ensure_future(_awaited(approve, request))
    try:
        decision = await within(asked, request.seconds)
    except HandlerTimeout:
        decision = None
    if decision not in request.decisions:
        return "timeout", "Approval timed out"
    if decision == "deny":
        return "deny", "Denied by user"
    return decision, None


async def _awaited(approve: Approve, request: ApprovalRequest) -> Any:
    decision = approve(request)
    return await decision if inspect.isawaitable(decision) else decision


async def _tell(approval: Any, resolution: Resolution, logger: logging.Logger) -> None:
    on_resolution = get(approval, "onResolution")
    if not callable(on_resolution):
        return
    try:
        await _awaited(on_resolution, resolution)  # type: ignore[arg-type]
    except Exception:
        logger.exception("a plugin's onResolution failed")


# -- what is shown ---------------------------------------------------------------------------------


def scope_of(scope: Any) -> dict[str, Any] | None:
    """Return the facts of a scope that may be shown. They must have a known kind, contain no
    control characters, and not exceed their limits."""
    rules = {
        "message-send": {"target": 128}, "external-post": {"target": 128},
        "payment": {"amount": 40, "currency": 12, "target": 128},
    }.get(_text(get(scope, "kind")))  # fmt: skip
    if rules is None:
        return None
    shown = {**spread(scope), **{key: _text(get(scope, key)) for key in rules}}
    if any(not shown[key] or len(shown[key]) > most for key, most in rules.items()):
        return None
    recipients = get(scope, "recipients")
    if isinstance(recipients, (list, tuple)):
        shown["recipients"] = [_text(each) for each in recipients[:5]]
        if any(len(each) > 128 for each in shown["recipients"]):
            return None
    return shown


def _text(value: Any) -> str:
    return "".join(char for char in value if char.isprintable()) if isinstance(value, str) else ""


def _seconds(milliseconds: object) -> float:
    if not is_number(milliseconds) or not math.isfinite(milliseconds) or milliseconds <= 0:
        return USUAL_SECONDS
    return min(math.floor(milliseconds) / 1000, MOST_SECONDS)
