"""Events of the agents, as their documents describe them."""

import copy

SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command"}
BEFORE = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
AFTER = {"claude": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}
PROMPT = {"claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
AGENTS = ("claude", "codex", "gemini")

COMMON = {
    "claude": {
        "session_id": "5a2f3b1e-6a0e-4a0b-9a53-1d1c8b0c2f11",
        "transcript_path": "/tmp/claude/transcript.jsonl",
        "cwd": "/tmp",
        "permission_mode": "default",
    },
    "codex": {
        "session_id": "019a1f0e-77aa-7b12-9d40-5c9b1b1f0c01",
        "turn_id": "019a1f0e-77ab-7c33-8d11-aa0b1c2d3e4f",
        "transcript_path": None,
        "cwd": "/tmp",
        "model": "gpt-5-codex",
        "permission_mode": "default",
    },
    "gemini": {
        "session_id": "f3f0c2a4-1b6d-4f0e-8f7b-77d1f3b2a901",
        "transcript_path": "/tmp/gemini/session.json",
        "cwd": "/tmp",
        "timestamp": "2026-11-26T10:00:00.000Z",
    },
}  # fmt: skip

RESULT = {
    "claude": {
        "stdout": "a file", "stderr": "", "interrupted": False, "isImage": False,
        "noOutputExpected": False,
    },
    "codex": "a file",
    "gemini": {"llmContent": "Output: a file", "returnDisplay": "a file"},
}  # fmt: skip


def before(agent, command="ls", number=1, **more):
    """Return the event before a call of a shell."""
    given = copy.deepcopy(COMMON[agent])
    given |= {"hook_event_name": BEFORE[agent], "tool_name": SHELL[agent],
              "tool_input": {"command": command}}  # fmt: skip
    if agent != "gemini":
        given["tool_use_id"] = f"toolu_{number:02}"
    return {**given, **more}


def after(agent, command="ls", number=1, result=None, **more):
    """Return the event after a call of a shell."""
    given = before(agent, command, number)
    result = copy.deepcopy(RESULT[agent]) if result is None else result
    return {**given, "hook_event_name": AFTER[agent], "tool_response": result, **more}


def failed(command="ls", number=1, **more):
    """Return the event after a call of a shell of Claude Code that failed."""
    given = before("claude", command, number)
    return {**given, "hook_event_name": "PostToolUseFailure", "error": "Exit code 1", **more}


def prompt(agent, text="hello", **more):
    """Return the event of a prompt."""
    given = {**COMMON[agent], "hook_event_name": PROMPT[agent], "prompt": text}
    return {**given, **more}


def other(agent, name, **more):
    """Return any other event."""
    return {**COMMON[agent], "hook_event_name": name, **more}
