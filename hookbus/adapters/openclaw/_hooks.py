"""The 42 hooks of OpenClaw 2026.9.6 and one older hook, each with its kind, merge rule, ending key
and time limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import attrs

from . import _merges as merges
from ._values import get

Kind = Literal["modify", "gate", "modify_gate", "claim", "sync", "evaluate", "observe"]


@attrs.frozen(eq=False)
class ClawHook:
    """One hook of OpenClaw.

    Attributes:
        kind: `modify`, `gate` and `modify_gate` call handlers in order and merge the results.
            `claim` calls handlers until one handles the event; `sync` does the same without
            awaiting. `evaluate` calls handlers concurrently and keeps each outcome. `observe` calls
            handlers concurrently and ignores their results.
        rule: a description of the merge rule, which `explain` shows.
        merge: the function that merges results.
        ends: the key that ends the run if its value is exactly True.
        budget: the time limit of a handler in seconds, or None.
        keys: the keys that a handler may return, for a hook whose results are merged.
    """

    name: str
    kind: Kind
    rule: str = ""
    merge: merges.Merge = merges.replace
    ends: str | None = None
    budget: float | None = None
    keys: frozenset[str] = frozenset()

    @property
    def merges(self) -> bool:
        return self.kind in ("modify", "gate", "modify_gate")

    def is_over(self, merged: Any) -> bool:
        """Return whether the run ends, so that no further handler is called."""
        if self.kind == "gate":
            return bool(get(get(merged, "decision"), "outcome") == "block")
        return self.ends is not None and get(merged, self.ends) is True


def _modify(
    name: str, rule: str, merge: merges.Merge, keys: str = "", budget: float | None = None
) -> ClawHook:
    return ClawHook(name, "modify", rule, merge, None, budget, frozenset(keys.split()))


def _both(name: str, rule: str, merge: merges.Merge, ends: str, keys: str) -> ClawHook:
    return ClawHook(name, "modify_gate", rule, merge, ends, 15.0, frozenset(keys.split()))


_CONTEXTS: Final = "prependContext appendContext"
_PROMPTS: Final = f"systemPrompt {_CONTEXTS} prependSystemContext appendSystemContext toolsAllow"
_TOOL_RULE: Final = (
    "params last until an approval, block ends, blockReason last, requireApproval first"
)
_BUDGETS: Final = {
    "agent_end": 30.0, "before_compaction": 30.0, "after_compaction": 30.0, "skill_changed": 30.0,
    "skill_proposal_changed": 30.0, "gateway_stop": 5.0, "channel_pairing_requested": 2.0,
}  # fmt: skip

_MERGED: Final = (
    _modify("before_model_resolve", "modelOverride first, providerOverride first", merges.model,
            "modelOverride providerOverride"),
    _modify("agent_turn_prepare", "contexts joined", merges.contexts, _CONTEXTS),
    _modify("before_prompt_build", "systemPrompt first, contexts joined, toolsAllow intersects",
            merges.prompt, _PROMPTS, 15.0),
    _modify("before_agent_finalize", "finalize before revise before continue, reasons joined",
            merges.finalize, "action reason retry retryCandidates", 15.0),
    _modify("heartbeat_prompt_contribution", "contexts joined", merges.contexts, _CONTEXTS),
    _modify("resolve_exec_env", "last per key", merges.environment, "", 15.0),
    _modify("subagent_delivery_target", "first origin", merges.delivery_target, "origin"),
    ClawHook("before_agent_run", "gate", "most restrictive, a block ends", merges.decision,
             budget=15.0),
    _both("before_tool_call", _TOOL_RULE, merges.tool_call, "block",
          "params block blockReason requireApproval"),
    _both("message_sending", "content last, cancel ends, reason and metadata last",
          merges.message, "cancel", "content cancel cancelReason metadata"),
    _both("reply_payload_sending", "payload chained, cancel ends, reason last",
          merges.payload, "cancel", "payload cancel reason"),
    _both("before_install", "findings added up, block ends, blockReason last",
          merges.install, "block", "findings block blockReason"),
)  # fmt: skip

_OTHERS: Final[dict[Kind, str]] = {
    "claim": "before_agent_reply inbound_claim before_dispatch reply_dispatch",
    "sync": "tool_result_persist before_message_write",
    "evaluate": "skill_proposal_evaluate",
    "observe": "model_call_started model_call_ended llm_input llm_output agent_end "
    "before_compaction after_compaction before_reset channel_pairing_requested message_received "
    "message_sent after_tool_call session_start session_end subagent_spawned subagent_progress "
    "subagent_ended gateway_start gateway_stop cron_reconciled cron_changed "
    "skill_proposal_changed skill_changed",
}

_RULES: Final[dict[Kind, str]] = {
    "claim": "first that handles", "sync": "message chained", "evaluate": "every outcome",
    "observe": "no result",
}  # fmt: skip


def _catalogue() -> dict[str, ClawHook]:
    hooks = [*_MERGED]
    for kind, names in _OTHERS.items():
        for name in names.split():
            hooks.append(
                ClawHook(
                    name,
                    kind,
                    _RULES[kind],
                    budget=120.0 if kind == "evaluate" else _BUDGETS.get(name),
                )
            )
    return {hook.name: hook for hook in hooks}


HOOKS: Final[dict[str, ClawHook]] = _catalogue()
"""Every hook by its name."""

OLDER: Final = _modify(
    "before_agent_start", "systemPrompt last, prependContext joined", merges.older_prompt,
    "systemPrompt prependContext",
)  # fmt: skip
"""The hook that OpenClaw later split into `before_model_resolve` and `before_prompt_build`."""

FAIL_CLOSED: Final = ("before_agent_run", "before_install", "before_tool_call")
"""The hooks whose failures OpenClaw's global runner raises."""

MATCHED: Final = ("before_tool_call", "after_tool_call")
"""The hooks that take a matcher."""

FROZEN: Final = ("skill_proposal_evaluate", "skill_proposal_changed", "skill_changed")
"""The hooks whose event is read-only."""


def strict(hook: ClawHook) -> ClawHook:
    """Return a hook for `strict=True`. Handlers see the changes of earlier handlers, and each
    handler has a time limit."""
    budget = hook.budget or (
        None if hook.kind == "sync" else 30.0 if hook.kind == "observe" else 15.0
    )
    changed: dict[str, tuple[str, Callable[..., Any]]] = {
        "before_tool_call": (
            hook.rule.replace("params last", "params chained"),
            merges.chained_tool_call,
        ),
        "message_sending": (hook.rule.replace("content last", "content chained"), hook.merge),
    }
    rule, merge = changed.get(hook.name, (hook.rule, hook.merge))
    return attrs.evolve(hook, rule=rule, merge=merge, budget=budget)
