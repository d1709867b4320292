"""Events of Cursor, GitHub Copilot CLI and OpenCode, and how each reads the answer of a hook.

Cursor's events are those of its documents, with the values that were recorded from Cursor 3.9.16;
its reading is that of its documents. Copilot's were recorded from GitHub Copilot CLI 1.0.102, and
OpenCode's are those that the plugin of the gate sends from OpenCode 1.18.33; their reading was seen
in the real programs.
"""

import copy
import json

AGENTS = ("cursor", "copilot", "opencode")
SHELL = {"cursor": "Shell", "copilot": "bash", "opencode": "bash"}
BEFORE = {"cursor": "preToolUse", "copilot": "preToolUse", "opencode": "tool.execute.before"}
AFTER = {"cursor": "postToolUse", "copilot": "postToolUse", "opencode": "tool.execute.after"}
PROMPT = {"cursor": "beforeSubmitPrompt", "copilot": "userPromptSubmitted",
          "opencode": "chat.message"}  # fmt: skip
BEGIN = {"cursor": "sessionStart", "copilot": "sessionStart", "opencode": "session.created"}
END = {"cursor": "sessionEnd", "copilot": "sessionEnd", "opencode": "session.deleted"}

COMMON = {
    "cursor": {
        "conversation_id": "74676b03-0001", "generation_id": "f7746f6e-0001", "model": "default",
        "session_id": "74676b03-0001", "cursor_version": "3.9.16", "workspace_roots": ["/tmp"],
        "user_email": None, "transcript_path": None,
    },
    "copilot": {"sessionId": "99b9442a-1f6b", "timestamp": 1795726699548, "cwd": "/tmp"},
    "opencode": {"session_id": "ses_de657b11bffe", "cwd": "/tmp"},
}  # fmt: skip


def _named(agent, name, **more):
    given = copy.deepcopy(COMMON[agent])
    return {**given, **({} if agent == "copilot" else {"hook_event_name": name}), **more}


def before(agent, command="ls", number=1, tool=None, arguments=None):
    """Return the name of the event before a call, and the event."""
    arguments = {"command": command} if arguments is None else arguments
    tool, name = tool or SHELL[agent], BEFORE[agent]
    if agent == "copilot":
        return name, _named(agent, name, toolName=tool, toolArgs=arguments)
    own = {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"call_{number}"}
    return name, _named(agent, name, **own, **({"cwd": ""} if agent == "cursor" else {}))


def after(agent, command="ls", number=1, text="a file", **more):
    """Return the name of the event after a call, and the event."""
    event = before(agent, command, number, **more)[1]
    if agent == "copilot":
        result = {"resultType": "success", "textResultForLlm": text}
        return AFTER[agent], {**event, "toolResult": result}
    if agent == "cursor":
        output = {"tool_output": json.dumps({"output": text, "exitCode": 0}), "duration": 1.5}
    else:
        output = {"tool_response": text}
    return AFTER[agent], {**event, "hook_event_name": AFTER[agent], **output}


def prompt(agent, text="hello"):
    """Return the name of the event of a prompt, and the event."""
    return PROMPT[agent], _named(agent, PROMPT[agent], prompt=text)


def session(agent, names):
    """Return the name of an event of a session, and the event."""
    return names[agent], _named(agent, names[agent], source="new")


def _json_of(out):
    try:
        found = json.loads(out)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _tool_of_cursor(given, code, out, err):
    said = _json_of(out) if code == 0 else None
    if said is None:  # `failClosed`; without a word, too
        return "blocked", err or "the hook failed"
    if said.get("permission") == "deny":
        return "blocked", said["user_message"]
    return "runs", said.get("updated_input", given["tool_input"])


def _tool_of_copilot(given, code, out, err):
    said = _json_of(out) or {}
    if code or said.get("permissionDecision") == "deny":
        return "blocked", said.get("permissionDecisionReason", "hook errored")
    return "runs", said.get("modifiedArgs", given["toolArgs"])


def _tool_of_opencode(given, code, out, err):
    if code:
        return "blocked", err
    return "runs", (_json_of(out) or {}).get("arguments", given["tool_input"])


def _result(agent, given, code, out, err):
    said = _json_of(out) if code == 0 else None
    if agent == "cursor":
        changed = (said or {}).get("updated_mcp_tool_output")
        if changed is None or not given["tool_name"].startswith("MCP:"):
            return "told", given["tool_output"]
        return "told", changed["content"][0]["text"]
    if agent == "copilot":
        result = (said or {}).get("modifiedResult", given["toolResult"])
        return "told", result["textResultForLlm"]
    return "told", err if code else (said or {}).get("output", given["tool_response"])


def _prompt(agent, code, out, err):
    said = _json_of(out) if code == 0 else None
    if agent == "cursor":
        is_blocked = said is None or said.get("continue") is False
        return ("blocked", (said or {}).get("user_message", err)) if is_blocked else ("goes on", "")
    return ("blocked", err) if code and agent == "opencode" else ("goes on", "")


_TOOLS = {"cursor": _tool_of_cursor, "copilot": _tool_of_copilot, "opencode": _tool_of_opencode}


def outcome(agent, name, given, answer):
    """Return what an agent makes of an answer: its exit code, stdout and stderr."""
    if name == BEFORE[agent]:
        return _TOOLS[agent](given, *answer)
    return _result(agent, given, *answer) if name == AFTER[agent] else _prompt(agent, *answer)
