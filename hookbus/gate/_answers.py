"""What each agent understands: the exit code, stdout and stderr for every outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..adapters import claude_agent
from . import hook
from ._codex import is_patch, with_closed_stdin
from ._events import Event
from .hook import GO, REFUSED, Answer

GOES_ON: Answer = GO, b"", b""
"""The event goes on as it is."""


def closed(agent: str, event: str, why: str) -> Answer:
    """Return the answer to an event that cannot be judged."""
    if agent == "claude" and event in hook.AFTER:
        return _ended(f"hookbus: {' '.join(why.split())}")
    return hook.closing(agent, event, why)


def refused(event: Event, text: str) -> Answer:
    """Return the answer that refuses a call or a prompt, for the reason in the text."""
    if event.agent.name == "claude" and event.kind == "before":
        return _claude("PreToolUse", permissionDecision="deny", permissionDecisionReason=text)
    return _on_stderr(text)


def handed_on(question: str) -> Answer:
    """Return the answer that has Claude Code ask its user."""
    return _claude("PreToolUse", permissionDecision="ask", permissionDecisionReason=question)


def runs(event: Event, arguments: Mapping[str, Any], *, is_stdin_open: bool) -> Answer:
    """Return the answer that lets a tool run with these arguments."""
    given, name = event.given["tool_input"], event.agent.name
    is_changed = arguments != given
    if name == "codex":
        return _runs_in_codex(event, arguments, is_changed, is_stdin_open)
    if not is_changed:
        return GOES_ON
    if name == "claude":
        # An "allow" beside it would skip the permissions that the user has set.
        return _claude("PreToolUse", updatedInput=arguments)
    if not given.keys() <= arguments.keys():
        return refused(event, _unchangeable(event, "takes no argument away"))
    return _json({"hookSpecificOutput": {"tool_input": arguments}})


def _runs_in_codex(
    event: Event, arguments: Mapping[str, Any], is_changed: bool, is_stdin_open: bool
) -> Answer:
    tool = event.tool
    if is_changed and tool not in ("Bash", "apply_patch") and not tool.startswith("mcp_"):
        return refused(event, _unchangeable(event, "changes no argument of this tool"))
    if tool == "Bash" and not is_stdin_open:
        command = arguments.get("command")
        if not isinstance(command, str):
            return refused(event, _unchangeable(event, "has no command to close the stdin of"))
        if not is_patch(command):
            arguments, is_changed = {**arguments, "command": with_closed_stdin(command)}, True
    if not is_changed:
        return GOES_ON
    # Without "allow" Codex runs the arguments that the model sent.
    return _claude("PreToolUse", permissionDecision="allow", updatedInput=arguments)


def _unchangeable(event: Event, why: str) -> str:
    where = f"a receiver changed the arguments of {event.tool}, and {event.agent.name}"
    return f"Error: the call was blocked: {where} {why}"


def told(event: Event, value: Any) -> Answer:
    """Return the answer that has the model read this value in place of a result."""
    if event.agent.name == "claude":
        fitting = claude_agent._fitted(event.given.get("tool_response"), value)
        if fitting is not None:
            return _claude("PostToolUse", updatedToolOutput=fitting)
        why = "its result has another shape than the tool's own"
        return _ended(f"hookbus: the result of {event.tool} was withheld, because {why}")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text if text.strip() else "(the result is empty)"
    if event.agent.name == "codex":
        return _on_stderr(text)
    return _json({"decision": "deny", "reason": text})


def failure_told(value: Any) -> Answer:
    """Return the answer that adds a text to the failure of a tool of Claude Code."""
    return _claude("PostToolUseFailure", additionalContext=str(value))


def withheld(event: Event, why: str) -> Answer:
    """Return the answer that keeps the result of a call from the model that was never judged."""
    return refused_result(event, f"Error: the result of {event.tool} was withheld: {why}")


def refused_result(event: Event, text: str) -> Answer:
    """Return the answer that has the model read this refusal in place of a result. The text of a
    failed tool cannot be replaced, so the turn ends.
    """
    return _ended(f"hookbus: {text}") if event.kind == "failed" else told(event, text)


def _claude(event: str, **output: Any) -> Answer:
    return _json({"hookSpecificOutput": {"hookEventName": event, **output}})


def _ended(reason: str) -> Answer:
    return _json({"continue": False, "stopReason": reason})


def _json(value: Any) -> Answer:
    return GO, json.dumps(value).encode(), b""


def _on_stderr(text: str) -> Answer:
    text = text if text.strip() else "hookbus: blocked"
    return REFUSED, b"", text.encode("utf-8", "backslashreplace") + b"\n"
