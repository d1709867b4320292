"""The rules that merge the results of handlers. Each rule is a function that takes the merged
result so far and the next result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ._tool_lists import intersected, tools_allowed
from ._values import (
    MISSING,
    NULL,
    clone,
    first,
    get,
    is_nullish,
    is_truthy,
    joined,
    last,
    spread,
    sticky,
    without_missing,
)

Merge = Callable[[Any, Any, str, Any], Any]
"""`merge(merged, returned, plugin_id, event)`; `merged` is MISSING before the first result."""


def replace(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    return returned


# -- prompts ---------------------------------------------------------------------------------------


def model(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    keys = ("modelOverride", "providerOverride")
    return without_missing(**{key: first(get(merged, key), get(returned, key)) for key in keys})


def contexts(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    return _joined(merged, returned, "prependContext", "appendContext")


def prompt(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    allowed = [tools_allowed(get(each, "toolsAllow")) for each in (merged, returned)]
    given = [each for each in allowed if each is not None]
    return {
        **without_missing(
            systemPrompt=first(get(merged, "systemPrompt"), get(returned, "systemPrompt"))
        ),
        **_joined(merged, returned, "prependContext", "appendContext"),
        **({"toolsAllow": intersected(*given) if len(given) == 2 else given[0]} if given else {}),
        **_joined(merged, returned, "prependSystemContext", "appendSystemContext"),
    }


def older_prompt(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    """Merge results of `before_agent_start`, which OpenClaw has removed. The last system prompt
    wins, and prepended contexts are joined.
    """
    said = last(get(merged, "systemPrompt"), get(returned, "systemPrompt"))
    return {**without_missing(systemPrompt=said), **_joined(merged, returned, "prependContext")}


def _joined(merged: Any, returned: Any, *keys: str) -> dict[str, Any]:
    return without_missing(**{key: joined(get(merged, key), get(returned, key)) for key in keys})


# -- runs ------------------------------------------------------------------------------------------


INVALID: Final = {"outcome": "block", "reason": "before_agent_run returned an invalid decision"}


def decision(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    """Return the most restrictive decision, with its plugin. A value that is not a decision
    blocks."""
    made = returned if is_decision(returned) else dict(INVALID)
    if merged is MISSING or (
        made["outcome"] == "block" and merged["decision"]["outcome"] != "block"
    ):
        return {"decision": made, "pluginId": plugin}
    return merged


def is_decision(value: Any) -> bool:
    """Return whether a value is a valid decision: either a pass, or a block with a reason."""
    if not isinstance(value, Mapping):
        return False
    if value.get("outcome") == "pass":
        return len(value) == 1
    if value.get("outcome") != "block" or not set(value) <= {
        "outcome", "reason", "message", "category", "metadata",
    }:  # fmt: skip
        return False
    texts = [value.get("reason"), *(value[key] for key in ("message", "category") if key in value)]
    return all(isinstance(text, str) and text.strip() for text in texts) and isinstance(
        value.get("metadata", {}), Mapping
    )


class _Revision(dict[str, Any]):
    """A revision that several handlers requested.

    Attributes:
        candidates: the proposal of each handler for the retry.
    """

    candidates: tuple[dict[str, Any], ...] = ()


def finalize(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    before, now = get(merged, "action"), get(returned, "action")
    if before == "finalize":
        return merged
    reason = get(returned, "reason")
    if now == "finalize":
        return without_missing(action="finalize", reason=reason)
    if now == "revise":
        candidates = (
            *retry_candidates(merged),
            *(retry_candidates(returned) if before == "revise" else _retry(returned)),
        )
        reason = joined(get(merged, "reason"), reason) if before == "revise" else reason
        made = _Revision(
            without_missing(
                action="revise", reason=reason, retry=candidates[0] if candidates else MISSING
            )
        )
        made.candidates = candidates if len(candidates) > 1 else ()
        return made
    if before == "revise":
        return merged
    if now == "continue":
        return without_missing(action="continue", reason=reason)
    return returned if is_nullish(merged) else merged


def retry_candidates(result: Any) -> tuple[dict[str, Any], ...]:
    """Return the proposals of all handlers that requested a revision, with the keys `instruction`,
    `idempotencyKey` and `maxAttempts`."""
    if get(result, "action") != "revise":
        return ()
    listed = result.candidates if isinstance(result, _Revision) else get(result, "retryCandidates")
    if isinstance(listed, (list, tuple)) and listed:
        return tuple(each for given in listed for each in _retry({"retry": given}))
    return _retry(result)


def _retry(result: Any) -> tuple[dict[str, Any], ...]:
    retry = get(result, "retry")
    instruction = get(retry, "instruction")
    text = instruction.strip() if isinstance(instruction, str) else ""
    return ({**spread(retry), "instruction": text},) if text else ()


# -- tools, messages, installs ---------------------------------------------------------------------


def tool_call(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    """Merge results of `before_tool_call`. The last params win until a handler requests approval,
    which freezes the params. The first request for approval wins."""
    if get(merged, "block") is True:
        return merged
    approval, asked = get(merged, "requireApproval"), get(returned, "requireApproval")
    params = last(get(merged, "params"), get(returned, "params"))
    if approval is not MISSING:
        params = get(merged, "params")
    elif is_truthy(asked):
        approval = {**spread(asked), "pluginId": plugin}
        params = clone(params, "before_tool_call")
    return without_missing(
        params=params,
        block=sticky(get(merged, "block"), get(returned, "block")),
        blockReason=last(get(merged, "blockReason"), get(returned, "blockReason")),
        requireApproval=approval,
    )


def chained_tool_call(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    """Like `tool_call`, but params are patches. A handler's change persists unless a later handler
    changes the same key."""
    params = get(returned, "params")
    if isinstance(params, Mapping):
        before = get(merged, "params")
        before = get(event, "params") if before is MISSING else before
        returned = {**returned, "params": {**spread(before), **params}}
    return tool_call(merged, returned, plugin, event)


def message(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    return without_missing(
        content=last(get(merged, "content"), get(returned, "content")),
        cancel=sticky(get(merged, "cancel"), get(returned, "cancel")),
        cancelReason=last(get(merged, "cancelReason"), get(returned, "cancelReason")),
        metadata=last(get(merged, "metadata"), get(returned, "metadata")),
    )


def payload(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    """Return the latest payload. The host, not a handler, decides whether media in the payload are
    trusted."""
    before, now = first(get(merged, "payload"), get(event, "payload")), get(returned, "payload")
    return without_missing(
        payload=before if now is MISSING else _accepted(before, now),
        cancel=sticky(get(merged, "cancel"), get(returned, "cancel")),
        reason=last(get(merged, "reason"), get(returned, "reason")),
    )


def visible_payload(value: Any) -> dict[str, Any]:
    """Return a copy of a payload for a handler, without the host's trust decision."""
    shown: dict[str, Any] = clone(
        {key: item for key, item in spread(value).items() if key != "trustedLocalMedia"}, "payload"
    )
    return shown


def _accepted(before: Any, now: Any) -> dict[str, Any]:
    if is_nullish(now):
        raise TypeError("a payload cannot be null")
    made = visible_payload(now)
    media = [
        (get(each, "mediaUrl"), list(each.get("mediaUrls") or ()))
        for each in (spread(before), made)
    ]
    if get(before, "trustedLocalMedia") is True and media[0] == media[1]:
        return {**made, "trustedLocalMedia": True}
    return made


def install(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    found = [*_listed(get(merged, "findings")), *_listed(get(returned, "findings"))]
    return without_missing(
        findings=found or MISSING,
        block=sticky(get(merged, "block"), get(returned, "block")),
        blockReason=last(get(merged, "blockReason"), get(returned, "blockReason")),
    )


def _listed(findings: Any) -> Any:
    return () if is_nullish(findings) else findings


def environment(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    return {**spread(merged), **spread(returned)} if is_truthy(merged) else returned


def delivery_target(merged: Any, returned: Any, plugin: str, event: Any) -> Any:
    return merged if is_truthy(get(merged, "origin")) else returned


def plain(value: Any) -> Any:
    """Return the result for the host, or None if there is none."""
    return None if value is MISSING or value is NULL else value
