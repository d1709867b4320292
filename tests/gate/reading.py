"""How each agent reads the answer of a hook: a small model of what the real programs were seen
to do (Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0).

Every function returns what becomes of the event: `("runs", arguments)`, `("blocked", text)`,
`("asks", text)` or `("ends", text)`; after a tool `("told", result)` or `("ends", text)`.
"""

import json

KEYS_OF_CODEX = {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"}


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _json_of(out):
    try:
        found = json.loads(out, parse_constant=_refuse_constant)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _json_of_codex(out):
    """Parse JSON as Codex does: without halves of surrogate pairs, and to a depth of 127."""
    found = _json_of(out)
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None
    return found if _depth(found) <= 127 else None


def _depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, (dict, list)) + max(map(_depth, inner), default=0)


def before_claude(event, code, out, err):
    arguments = event["tool_input"]
    if code == 2:
        return "blocked", err
    said = _json_of(out) if code == 0 else None
    if said is None:
        return "runs", arguments
    own = said.get("hookSpecificOutput", {})
    if own.get("hookEventName") != "PreToolUse":
        return "runs", arguments
    if own.get("permissionDecision") == "deny":
        return "blocked", own["permissionDecisionReason"]
    if own.get("permissionDecision") == "ask":
        return "asks", own["permissionDecisionReason"]
    return "runs", own.get("updatedInput", arguments)


def before_codex(event, code, out, err):
    arguments = event["tool_input"]
    if code == 2:
        return ("blocked", err) if err.strip() else ("runs", arguments)
    said = _json_of_codex(out) if code == 0 else None
    if said is None or said.keys() != {"hookSpecificOutput"}:
        return "runs", arguments
    own = said["hookSpecificOutput"]
    if not own.keys() <= KEYS_OF_CODEX or own.get("hookEventName") != "PreToolUse":
        return "runs", arguments
    if own.get("permissionDecision") == "deny":
        return "blocked", own["permissionDecisionReason"]
    if own.get("permissionDecision") == "allow":
        return "runs", own.get("updatedInput", arguments)
    return "runs", arguments


def before_gemini(event, code, out, err):
    arguments = event["tool_input"]
    said = _json_of(out)
    if said is None:
        said = {"decision": "deny", "reason": err} if code >= 2 and err.strip() else {}
    if said.get("continue") is False or said.get("decision") == "ask":
        return "ends", said.get("stopReason", "")
    if said.get("decision") in ("deny", "block"):
        return "blocked", said["reason"]
    return "runs", {**arguments, **said.get("hookSpecificOutput", {}).get("tool_input", {})}


def after_claude(event, code, out, err):
    result = event.get("tool_response", event.get("error"))
    said = _json_of(out) if code == 0 else None
    if said is None:
        return "told", result  # beside the stderr of an exit 2
    if said.get("continue") is False:
        return "ends", said["stopReason"]
    new = said.get("hookSpecificOutput", {}).get("updatedToolOutput")
    is_alike = type(new) is type(result) and (
        not isinstance(result, dict) or new.keys() == result.keys()
    )
    found = new if is_alike else result
    more = found.get("structuredContent") if isinstance(found, dict) else None
    return "told", {**found, "stdout": str(more)} if more else found


def after_codex(event, code, out, err):
    return "told", err if code == 2 and err.strip() else event["tool_response"]


def after_gemini(event, code, out, err):
    said = _json_of(out)
    if said is None and code >= 2 and err.strip():
        return "told", err
    if said and said.get("decision") == "deny":
        return "told", said["reason"]
    result = event["tool_response"]
    error = result.get("error") if isinstance(result, dict) else None
    return "told", error["message"] if error else result


def prompt_any(event, code, out, err):
    is_blocked = code == 2 and err.strip() and not _json_of(out)
    return ("blocked", err) if is_blocked else ("goes on", event["prompt"])


BEFORE = {"claude": before_claude, "codex": before_codex, "gemini": before_gemini}
AFTER = {"claude": after_claude, "codex": after_codex, "gemini": after_gemini}


def outcome(agent, event, answer):
    """Return what an agent makes of an answer: its exit code, stdout and stderr."""
    name = event["hook_event_name"]
    if name in ("PreToolUse", "BeforeTool"):
        return BEFORE[agent](event, *answer)
    if name in ("PostToolUse", "PostToolUseFailure", "AfterTool"):
        return AFTER[agent](event, *answer)
    return prompt_any(event, *answer)
