"""Converts events of Cursor and GitHub Copilot CLI to the names that the other agents use.

Cursor's documentation (https://cursor.com/docs/hooks): "All hooks receive a base set of fields":
`conversation_id`, `hook_event_name`, `workspace_roots`; `preToolUse` has `tool_name`, `tool_input`,
`tool_use_id` and `cwd`, which was recorded empty; `postToolUse` has `tool_output`, a
"JSON-stringified" result; an MCP tool is named `MCP:TOOL`.

Copilot's documentation (https://docs.github.com/en/copilot/reference/hooks-reference), for an event
in
camelCase: `sessionId`, `cwd`, `toolName`, `toolArgs`, `toolResult: {resultType, textResultForLlm}`,
`error`. An event does not contain its name, so the hook must pass it. An MCP tool
is named `SERVER-TOOL`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from ._agents import AGENTS

Given = Mapping[str, Any]

_OF_CURSOR: Final = {
    "conversation_id": "session_id", "generation_id": "prompt_id", "error_message": "error",
}  # fmt: skip
_OF_COPILOT: Final = {
    "sessionId": "session_id", "toolName": "tool_name", "toolArgs": "tool_input",
    "toolResult": "tool_response",
}  # fmt: skip
_BUILT_INTO_OPENCODE: Final = {
    *(name for names in AGENTS["opencode"].tools.values() for name in names),
    "batch", "invalid", "lsp", "plan_enter", "plan_exit", "question", "skill", "todoread",
    "todowrite",
}  # fmt: skip


def with_common_names(agent: str, expected: str, given: Given) -> Given:
    """Return an event with the common names of fields and MCP tools.

    Args:
        agent: the name of the agent.
        expected: the name of the event for which the hook is installed, or "" for any event.
        given: the event as the agent sent it.
    """
    change = _CHANGES.get(agent)
    return given if change is None else change(expected, given)


def _of_cursor(expected: str, given: Given) -> Given:
    found = _renamed(given, _OF_CURSOR)
    tool, output = found.get("tool_name"), found.pop("tool_output", None)
    if isinstance(tool, str) and tool.startswith("MCP:"):
        found["tool_name"] = f"mcp__{tool.removeprefix('MCP:')}"
    if output is not None:
        found["tool_response"] = _parsed(output)
    roots = found.get("workspace_roots")
    if not found.get("cwd") and isinstance(roots, list) and roots:
        found["cwd"] = roots[0]
    if found.get("hook_event_name") == "sessionStart":
        found["source"] = "startup"  # it comes for new conversations only
    return found


def _of_copilot(expected: str, given: Given) -> Given:
    found = {"hook_event_name": expected, **_renamed(given, _OF_COPILOT)}
    tool, arguments, error = (found.get(name) for name in ("tool_name", "tool_input", "error"))
    if isinstance(tool, str) and "-" in tool:
        found["tool_name"] = f"mcp__{tool}"
    if isinstance(arguments, str):
        parsed = _parsed(arguments)
        is_patch = tool == "apply_patch" and isinstance(parsed, str)  # not JSON, but the patch
        found["tool_input"] = {"input": arguments} if is_patch else parsed
    if isinstance(error, Mapping):
        found["error"] = error.get("message")
    if found.get("source") == "new":
        found["source"] = "startup"
    return found


def _of_opencode(expected: str, given: Given) -> Given:
    found, tool = dict(given), given.get("tool_name")
    if isinstance(tool, str) and tool not in _BUILT_INTO_OPENCODE:
        found["tool_name"] = f"mcp__{tool}"  # SERVER_TOOL, or a tool of another plugin
    return found


_CHANGES: Final[Mapping[str, Callable[[str, Given], Given]]] = {
    "cursor": _of_cursor, "copilot": _of_copilot, "opencode": _of_opencode,
}  # fmt: skip


def _renamed(given: Given, names: Mapping[str, str]) -> dict[str, Any]:
    own = {name: value for name, value in given.items() if name not in names}
    return own | {names[name]: value for name, value in given.items() if name in names}


def _parsed(text: Any) -> Any:
    """Parse a JSON string, or return the string itself if it is not JSON."""
    try:
        return parse_json(text)
    except (TypeError, ValueError, RecursionError):
        return text


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: if the text is not JSON, or contains a number that JSON does not allow.
        RecursionError: if the value is nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):  # the agent may read it as another number, or not at all
        raise ValueError(f"{number:.20} is too large")
    return value
