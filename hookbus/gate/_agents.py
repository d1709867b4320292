"""Defines the coding agents, with their events, the names of their tools, and the senders of their
calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs


@attrs.frozen(slots=False)  # events find the names of objects in `__dict__`
class Tool:
    """A tool of a coding agent, which is the sender of its calls. Each agent has a subclass.

    Attributes:
        agent: the name of the agent: `"claude"`, `"codex"`, `"gemini"`, `"cursor"`, `"copilot"` or
            `"opencode"`.
        name: the agent's own name for the tool.
        group: `"shell"`, `"read"`, `"write"`, `"edit"`, `"fetch"`, `"search"`, `"agent"` or
            `"mcp"`; None if the tool has no group.
    """

    agent: ClassVar[str] = ""
    name: str
    group: str | None = None


class ToolFailed(RuntimeError):
    """The exception of a call whose tool failed, as the agent reported it. The message is the text
    of the agent.
    """

    __module__ = "hookbus.gate"


class ClaudeTool(Tool):
    """A tool of Claude Code."""

    agent = "claude"


class CodexTool(Tool):
    """A tool of Codex."""

    agent = "codex"


class GeminiTool(Tool):
    """A tool of Gemini CLI."""

    agent = "gemini"


class CursorTool(Tool):
    """A tool of Cursor."""

    agent = "cursor"


class CopilotTool(Tool):
    """A tool of GitHub Copilot CLI."""

    agent = "copilot"


class OpenCodeTool(Tool):
    """A tool of OpenCode."""

    agent = "opencode"


@attrs.frozen(slots=False)
class Prompter:
    """The sender of the prompts of an agent.

    Attributes:
        name: the name of the agent.
    """

    name: str


GROUPS: Final = ("shell", "read", "write", "edit", "fetch", "search", "agent", "mcp")


@attrs.frozen
class Agent:
    """A coding agent.

    Attributes:
        name: the agent's name on the command line.
        tool: the class of the agent's tools.
        events: the kinds of the agent's events, by name: before, after, failed, prompt, begin, end
            or turn (the end of a turn). The gate ignores every other event.
        tools: the names of the agent's tools, by group.
        has_ids: whether events contain an identifier of the call.
        folder: the environment variable that contains the session's project folder.
        folder_arguments: the arguments of shell tools that contain the working directory of the
            command.
        is_flat: whether an entry in the agent's settings file is a single hook instead of a list of
            hooks.
        refuses_prompts: whether a refused prompt never reaches the model.
        replaces_results: whether every result can be replaced, and not only results of MCP tools.
        replaces_failures: whether the gate can end the turn instead of passing on the text of a
            failed tool.
    """

    name: str
    tool: type[Tool]
    events: Mapping[str, str]
    tools: Mapping[str, tuple[str, ...]]
    has_ids: bool = True
    folder: str | None = None
    folder_arguments: tuple[str, ...] = ()
    is_flat: bool = False
    refuses_prompts: bool = True
    replaces_results: bool = True
    replaces_failures: bool = True

    def group_of(self, name: str) -> str | None:
        """Return the group of a tool."""
        if name.startswith("mcp_"):
            return "mcp"
        return next((group for group, names in self.tools.items() if name in names), None)

    def sender(self, name: str) -> Tool:
        """Return the sender of the calls to a tool."""
        return self.tool(name, self.group_of(name))


_AGENTS: Final = (
    Agent(
        "claude", ClaudeTool, folder="CLAUDE_PROJECT_DIR",
        events={
            "PreToolUse": "before", "PostToolUse": "after", "PostToolUseFailure": "failed",
            "UserPromptSubmit": "prompt", "SessionStart": "begin", "SessionEnd": "end",
        },
        tools={
            "shell": ("Bash", "PowerShell", "Monitor"),
            "read": ("Read", "NotebookRead", "LS"),
            "write": ("Write",),
            "edit": ("Edit", "MultiEdit", "NotebookEdit"),
            "fetch": ("WebFetch",),
            "search": ("Grep", "Glob", "WebSearch"),
            "agent": ("Agent", "Task"),
        },
    ),
    Agent(
        "codex", CodexTool, folder_arguments=("workdir",),
        events={
            "PreToolUse": "before", "PostToolUse": "after", "UserPromptSubmit": "prompt",
            "SessionStart": "begin", "Stop": "turn",
        },
        tools={
            "shell": ("Bash", "shell", "exec_command"),
            "read": ("view_image",),
            "edit": ("apply_patch",),
            "write": ("apply_patch",),
            "search": ("web_search",),
            "agent": ("spawn_agent",),
        },
    ),
    Agent(
        "gemini", GeminiTool, has_ids=False, folder="GEMINI_PROJECT_DIR",
        folder_arguments=("dir_path", "directory"),
        events={
            "BeforeTool": "before", "AfterTool": "after", "BeforeAgent": "prompt",
            "SessionStart": "begin", "SessionEnd": "end",
        },
        tools={
            "shell": ("run_shell_command",),
            "read": ("read_file", "read_many_files"),
            "write": ("write_file",),
            "edit": ("replace",),
            "fetch": ("web_fetch",),
            "search": (
                "glob", "grep_search", "search_file_content", "list_directory",
                "google_web_search",
            ),
            "agent": ("invoke_agent",),
        },
    ),
    # Based on its documentation (cursor.com/docs/hooks) and on recorded events; hookbus has not run
    # it.
    Agent(
        "cursor", CursorTool, folder="CURSOR_PROJECT_DIR", is_flat=True, replaces_results=False,
        replaces_failures=False, folder_arguments=("cwd", "working_directory"),
        events={
            "preToolUse": "before", "postToolUse": "after", "postToolUseFailure": "failed",
            "beforeSubmitPrompt": "prompt", "sessionStart": "begin", "sessionEnd": "end",
            "stop": "turn",
        },
        tools={
            "shell": ("Shell",),
            "read": ("Read",),
            "write": ("Write", "Delete"),
            "edit": ("Write", "Edit"),
            "fetch": ("WebFetch",),
            "search": ("Grep", "Glob", "WebSearch", "SemanticSearch"),
            "agent": ("Task",),
        },
    ),
    Agent(
        "copilot", CopilotTool, has_ids=False, folder="COPILOT_PROJECT_DIR", is_flat=True,
        refuses_prompts=False, replaces_failures=False,
        events={
            "preToolUse": "before", "postToolUse": "after", "postToolUseFailure": "failed",
            "userPromptSubmitted": "prompt", "sessionStart": "begin", "sessionEnd": "end",
        },
        tools={
            "shell": ("bash", "powershell", "write_bash"),
            "read": ("view",),
            "write": ("create",),
            "edit": ("edit", "str_replace_editor", "apply_patch"),
            "fetch": ("web_fetch",),
            "search": ("grep", "rg", "glob", "web_search"),
            "agent": ("task", "write_agent"),
        },
    ),
    Agent(
        "opencode", OpenCodeTool, folder="OPENCODE_PROJECT_DIR", folder_arguments=("workdir",),
        events={
            "tool.execute.before": "before", "tool.execute.after": "after",
            "chat.message": "prompt", "session.created": "begin", "session.idle": "turn",
            "session.deleted": "end",
        },
        tools={
            "shell": ("bash",),
            "read": ("read",),
            "write": ("write",),
            "edit": ("edit", "multiedit", "patch", "apply_patch"),
            "fetch": ("webfetch",),
            "search": ("glob", "grep", "list", "websearch", "codesearch"),
            "agent": ("task",),
        },
    ),
)  # fmt: skip

AGENTS: Final = {each.name: each for each in _AGENTS}

TOOLS: Final = frozenset(
    name for agent in _AGENTS for names in agent.tools.values() for name in names
)
"""The names of all tools that have a group."""


def kind_of(tool: Tool) -> str:
    """Return the kind of a tool call, for receivers."""
    return tool.group if tool.group in ("mcp", "agent") else "builtin"


def expand_rule(rule: Any) -> list[Any]:
    """Return a rule of `tool_policy` with the agents' names for `"group:NAME"`.

    Raises:
        KeyError: if a name contains a colon and is not the name of a group.
    """
    if isinstance(rule, Mapping):
        return [{name: arguments} for tool, arguments in rule.items() for name in _names(tool)]
    return list(_names(rule)) if isinstance(rule, str) else [rule]


def _names(tool: str) -> list[str]:
    if ":" not in tool:
        return [tool]
    prefix, _, group = tool.partition(":")
    if prefix != "group" or group not in GROUPS:
        raise KeyError(tool)
    if group == "mcp":
        return ["mcp_*"]
    found = [name for agent in AGENTS.values() for name in agent.tools.get(group, ())]
    return list(dict.fromkeys(found))
