"""Creates answers in the format of each agent, as exit code, stdout and stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..adapters import claude_agent
from . import _hook as hook
from ._codex import is_patch, with_closed_stdin
from ._events import Event, comparable
from ._hook import GO, REFUSED, Answer

GOES_ON: Answer = GO, b"", b""
"""The answer that lets an event continue unchanged."""


def go_on(event: Event) -> Answer:
    """Return the answer that lets an event continue unchanged. With `failClosed`, Cursor treats an
    empty answer as a failure.
    """
    if event.agent.name == "cursor" and event.kind == "before":
        return _print_json({"permission": "allow"})
    if event.agent.name == "cursor" and event.kind == "prompt":
        return _print_json({"continue": True})
    return GOES_ON


def close_event(agent: str, event: str, why: str) -> Answer:
    """Return the answer to an event that cannot be judged."""
    if agent == "claude" and (agent, event) in hook.CLOSES:
        return _end_turn(f"hookbus: {' '.join(why.split())}")
    return hook.close_event(agent, event, why)


def refuse(event: Event, text: str) -> Answer:
    """Return the answer that refuses a call or a prompt, for the reason in the text."""
    name = event.agent.name
    denied = {"permissionDecision": "deny", "permissionDecisionReason": text}
    if name == "claude" and event.kind == "before":
        return _hook_output("PreToolUse", **denied)
    if name == "copilot" and event.kind == "before":
        return _print_json(denied)
    if name == "cursor" and event.kind == "before":
        return _print_json({"permission": "deny", "user_message": text, "agent_message": text})
    if name == "cursor" and event.kind == "prompt":
        return _print_json({"continue": False, "user_message": text})
    # Gemini CLI reads JSON on stderr as the answer, even with exit code 2.
    is_prose = text.lstrip()[:1].isalpha() or not text.strip()
    return _refuse_on_stderr(text if is_prose else f"Error: {text}")


def hand_on(question: str) -> Answer:
    """Return the answer that makes Claude Code ask its user."""
    return _hook_output("PreToolUse", permissionDecision="ask", permissionDecisionReason=question)


_UNCHANGEABLE: Final = {
    ("copilot", "apply_patch"),  # its arguments can be a plain text
    *(("opencode", f"mcp__{name}") for name in
      ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")),
}  # fmt: skip
"""Agents and tools that ignore changed arguments. OpenCode reads those of these tools before it
calls the plugin.
"""

_DEEPEST_OF_CODEX: Final = 100
"""The depth to which arguments may be nested. The JSON parser of Codex refuses more than 127
levels, including those of the answer around the arguments.
"""

_CHANGED: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "cursor": lambda arguments: {"permission": "allow", "updated_input": arguments},
    "copilot": lambda arguments: {"modifiedArgs": arguments},
    "opencode": lambda arguments: {"arguments": arguments},
}
"""For each agent, the answer that makes a tool run with other arguments, which replace all
arguments."""


def let_run(event: Event, arguments: Mapping[str, Any], *, is_stdin_open: bool) -> Answer:
    """Return the answer that lets a tool run with these arguments."""
    given, name = event.given["tool_input"], event.agent.name
    is_changed = comparable(arguments) != event.sent
    if name == "codex":
        return _let_run_in_codex(event, arguments, is_changed, is_stdin_open)
    if not is_changed:
        return go_on(event)
    if (name, event.tool) in _UNCHANGEABLE:
        return refuse(event, _explain_refusal(event, "cannot change the arguments of this tool"))
    if name in _CHANGED:
        return _print_json(_CHANGED[name](arguments))
    if name == "claude":
        # An "allow" in addition would skip the permissions that the user has set.
        return _hook_output("PreToolUse", updatedInput=arguments)
    if not given.keys() <= arguments.keys():
        return refuse(event, _explain_refusal(event, "cannot remove an argument"))
    return _print_json({"hookSpecificOutput": {"tool_input": arguments}})


def _let_run_in_codex(
    event: Event, arguments: Mapping[str, Any], is_changed: bool, is_stdin_open: bool
) -> Answer:
    tool = event.tool
    if is_changed and tool not in ("Bash", "apply_patch") and not tool.startswith("mcp_"):
        return refuse(event, _explain_refusal(event, "cannot change the arguments of this tool"))
    if tool == "Bash" and not is_stdin_open:
        command = arguments.get("command")
        if not isinstance(command, str):
            why = "its command is not a string, so its stdin cannot be closed"
            return refuse(event, f"Error: the call of {tool} was blocked: {why}")
        if not is_patch(command):
            arguments, is_changed = {**arguments, "command": with_closed_stdin(command)}, True
    if not is_changed:
        return GOES_ON
    if not _is_readable_by_codex(arguments):
        return refuse(event, _explain_refusal(event, "cannot read the new ones"))
    # Without "allow" Codex runs the arguments that the model sent.
    return _hook_output("PreToolUse", permissionDecision="allow", updatedInput=arguments)


def _is_readable_by_codex(value: Any, depth: int = _DEEPEST_OF_CODEX) -> bool:
    """Return whether Codex can parse a value in an answer. If Codex cannot parse an answer, it
    ignores it, and runs the arguments that the model sent.
    """
    if isinstance(value, str):
        return not any("\ud800" <= each <= "\udfff" for each in value)
    if isinstance(value, Mapping):
        inner = [*map(str, value), *value.values()]
    elif isinstance(value, (list, tuple)):
        inner = [*value]
    else:
        return True
    return depth > 0 and all(_is_readable_by_codex(each, depth - 1) for each in inner)


def _explain_refusal(event: Event, why: str) -> str:
    where = f"a receiver changed the arguments of {event.tool}, and {event.agent.name}"
    return f"Error: the call was blocked: {where} {why}"


def replace_result(event: Event, value: Any) -> Answer:
    """Return the answer that replaces a result, so that the model reads this value instead."""
    if event.agent.name == "claude":
        fitting = claude_agent._fitted(event.given.get("tool_response"), value)
        if fitting is not None:
            return _hook_output("PostToolUse", updatedToolOutput=fitting)
        why = "its result has a different shape from the tool's own"
        return _end_turn(f"hookbus: the result of {event.tool} was withheld, because {why}")
    text = value
    if not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    text = text if text.strip() else "(the result is empty)"
    return _replace_by_text(event, text)


def has_place_for_result(event: Event) -> bool:
    """Return whether the gate can replace the result of a tool, or end the turn instead. The text
    of a failed tool is not a result.
    """
    is_mcp = event.tool.startswith("mcp_")
    return event.kind == "failed" or event.agent.replaces_results or is_mcp


def _replace_by_text(event: Event, text: str) -> Answer:
    name = event.agent.name
    if name == "copilot":
        result = {"resultType": "success", "textResultForLlm": text}
        return _print_json({"modifiedResult": result})
    if name == "opencode":
        return _print_json({"output": text})
    if name == "cursor" and event.tool.startswith("mcp_"):
        content = [{"type": "text", "text": text}]
        return _print_json({"updated_mcp_tool_output": {"content": content}})
    if name == "gemini":
        return _print_json({"decision": "deny", "reason": text})
    return _refuse_on_stderr(text)  # Codex; Cursor has no place for it


def add_to_failure(event: Event, value: Any) -> Answer:
    """Return the answer that adds text to the failure of a tool, if the agent supports this."""
    if event.agent.name != "claude":
        return GOES_ON
    return _hook_output("PostToolUseFailure", additionalContext=str(value))


def withhold_result(event: Event, why: str) -> Answer:
    """Return the answer that withholds the result of a call that no guard checked."""
    return refuse_result(event, f"Error: the result of {event.tool} was withheld: {why}")


def refuse_result(event: Event, text: str) -> Answer:
    """Return the answer that replaces a result with the text of a refusal. The text of a failed
    tool cannot be replaced, so the turn ends instead, if the agent supports this.
    """
    if event.kind == "failed" and not event.agent.replaces_failures:
        return GOES_ON
    return _end_turn(f"hookbus: {text}") if event.kind == "failed" else replace_result(event, text)


def _hook_output(event: str, **output: Any) -> Answer:
    return _print_json({"hookSpecificOutput": {"hookEventName": event, **output}})


def _end_turn(reason: str) -> Answer:
    return _print_json({"continue": False, "stopReason": reason})


def _print_json(value: Any) -> Answer:
    """Serialize an answer. Raise ValueError for NaN and infinity, because an agent that cannot read
    the answer runs the call unchanged.
    """
    return GO, json.dumps(value, allow_nan=False).encode(), b""


def _refuse_on_stderr(text: str) -> Answer:
    text = text if text.strip() else "hookbus: blocked"
    return REFUSED, b"", text.encode("utf-8", "backslashreplace") + b"\n"
