"""`install` and `uninstall`: the gate in the settings file of an agent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from .. import HookError
from . import _hook as hook
from ._agents import AGENTS, Agent
from ._entries import (
    WrongShape,
    add_ours,
    entry_of,
    hook_words,
    hooks_in,
    ours_in,
    remove_ours,
)
from ._files import file_of, read_bytes, read_contents, remove_file, write_json, write_text
from ._lock import find_holder
from ._plugin import is_plugin, make_plugin
from ._wire import find_older, make_stop_request

STOP_SECONDS: Final = 10.0
"""How long `stop` waits for a server to end its calls."""

CANNOT: Final[dict[str, tuple[str, ...]]] = {
    "claude": (
        "web search and other tools that run on Anthropic's servers",
        "files named with @ in a prompt",
        "the text of a failed tool: it can only be extended",
        "sessions with --bare, --safe-mode or --setting-sources without user, sessions with "
        "CLAUDE_CODE_SIMPLE or CLAUDE_CODE_SAFE_MODE in the environment or in env of the settings, "
        "and projects with disableAllHooks: only managed settings still apply there",
        "settings with a value of a wrong type: Claude Code ignores the whole file",
    ),
    "codex": (
        "write_stdin, web search, and the arguments of tools other than Bash, apply_patch and MCP",
        "sub-agents that outlive codex exec",
        "anything before you trust the hook: start codex, open /hooks, and trust it",
    ),
    "gemini": (
        "two identical calls at the same time, because calls have no id",
        "a changed result that is not an error to the model",
        "projects whose hooksConfig disables hooks",
    ),
    "cursor": (
        "hookbus has not been tested with this agent: its support follows the documentation",
        "results of tools that are not MCP tools, and the text of a failed tool: the model reads "
        "them (after a result that a guard withholds, every later call of the session is refused)",
        "the server of an MCP tool: every tool is named mcp__TOOL",
        "Tab completions, and files that are attached to a prompt",
    ),
    "copilot": (
        "prompts: the model reads a refused prompt, but every call is refused until another prompt "
        "is allowed",
        "two identical calls at the same time, because calls have no id",
        "the text of a failed tool, and the arguments of apply_patch: they cannot be changed",
        "the server of an MCP tool: a tool is named mcp__SERVER-TOOL",
        "repositories whose settings have disableAllHooks: only policy hooks still run there",
    ),
    "opencode": (
        "sessions with --pure, which load no plugin",
        "the text of a failed tool",
        "the arguments of its tools for MCP resources: they cannot be changed",
        "the server of an MCP tool: a tool is named mcp__SERVER_TOOL",
        "what a user runs with ! in a prompt, and a shell that OpenCode's own user opens",
    ),
}
"""The actions that the gate of each agent does not check."""

ALL_CANNOT: Final = ("what a command does once it runs", "the model itself")


def list_limits(agent: str) -> list[str]:
    """Return descriptions of the actions of an agent that the gate cannot check."""
    return [*CANNOT[agent], *ALL_CANNOT]


@attrs.frozen
class State:
    """The state of a gate's server.

    Attributes:
        line: the error message of the hook, or an empty string if the server answers.
        version: the version of hookbus that the server runs.
        last: the time of each agent's last event, in seconds since 1970.
        unused: descriptions of the rules that look like mistakes, because they matched no call.
    """

    line: str
    version: str = ""
    last: Mapping[str, float] = attrs.field(factory=dict)
    unused: Sequence[str] = ()


def check(settings: Path) -> State:
    """Ask the server for these settings whether it answers, and return the state of the gate."""
    words = [*hook_words("", str(settings), 10), ""]
    ended = subprocess.run(words, input=b"{}", capture_output=True, check=False)
    if ended.returncode == hook.GO:
        return State("", **json.loads(ended.stdout))
    line = ended.stderr.decode("utf-8", "replace").strip()
    return State(line or f"hookbus: the hook ended with {ended.returncode}")


def install(agent: Agent, settings: Path, seconds: float, *, is_project: bool) -> Path:
    """Add the entries of the gate to the settings file of an agent, and return the file.

    Raises:
        HookError: if the gate does not answer, or if changing the file would lose data. In this
            case, the file is unchanged.
        OSError: if the file cannot be written.
    """
    file = file_of(agent, is_project=is_project)
    problem = check(settings).line
    if problem:
        raise HookError(f"nothing is installed: {problem.removeprefix('hookbus: ')}")
    # The file is not read before the check, which can take long enough for an edit.
    if agent.name == "opencode":
        found_bytes, text = _read_plugin(file), make_plugin(str(settings), seconds)
        if found_bytes != text.encode("utf-8", "surrogatepass"):
            write_text(file, text, read=found_bytes)
        return file
    found = read_contents(file)
    entries = {event: entry_of(agent, event, str(settings), seconds) for event in agent.events}
    try:
        changed = add_ours(agent, found.value, entries)
    except WrongShape as error:
        raise HookError(f"{file} is left as it is: {error}") from None
    if changed != found.value:
        write_json(file, changed, read=found.data)
    return file


def _read_plugin(file: Path) -> bytes | None:
    """Return the bytes of the gate's plugin, or None if the file does not exist.

    Raises:
        HookError: if the file is another plugin.
    """
    found = read_bytes(file)
    if found is not None and not is_plugin(found.decode("utf-8", "replace")):
        raise HookError(f"{file} is left as it is: it is not the plugin of the gate")
    return found


def uninstall(agent: Agent, *, is_project: bool) -> Path | None:
    """Remove the entries of the gate from the settings file of an agent, and the file itself if
    it contains nothing else. Return the file, or None if it contains no such entries.

    Raises:
        HookError: if changing the file would lose data. In this case, the file is unchanged.
        OSError: if the file cannot be written.
    """
    file = file_of(agent, is_project=is_project)
    if agent.name == "opencode":
        plugin = _read_plugin(file)
        if plugin is None:
            return None
        remove_file(file, read=plugin)
        return file
    found = read_contents(file)
    try:
        if not ours_in(hooks_in(agent, found.value)):
            return None
        changed = remove_ours(agent, found.value)
    except WrongShape as error:
        raise HookError(f"{file} is left as it is: {error}") from None
    if changed or file.is_symlink():
        write_json(file, changed, read=found.data)
    else:
        remove_file(file, read=found.data)
    return file


def agent_named(name: str) -> Agent:
    """Return the agent with this name.

    Raises:
        HookError: if there is no agent with this name.
    """
    if name not in AGENTS:
        from .._ground.errors import did_you_mean

        raise HookError(f"there is no agent {name!r}{did_you_mean(name, AGENTS)}")
    return AGENTS[name]


def stop(settings: Path) -> bool:
    """End the servers for these settings, and return whether a server was running. A server that
    does not answer, because a plugin blocks it, is killed.

    Raises:
        HookError: if a server belongs to another user.
    """
    base, is_stuck = hook.place(str(settings)), False
    try:
        paths = [f"{base}.sock", *find_older(str(settings))]
        found = [each for each in map(hook.connect, paths) if each is not None]
    except hook.Closed as error:
        raise HookError(str(error)) from None
    for connection in found:
        with contextlib.closing(connection), contextlib.suppress(ConnectionError):  # it ends anyway
            connection.settimeout(STOP_SECONDS)
            try:
                connection.sendall(make_stop_request(str(settings)))
                while connection.recv(1 << 10):  # until it has ended its calls
                    continue
            except TimeoutError:
                is_stuck = True
    holder = find_holder(base) if is_stuck or not found else None
    if holder is not None:  # it is loading, or a plugin blocks it
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder, signal.SIGKILL)
        ends = time.monotonic() + STOP_SECONDS
        while find_holder(base) == holder and time.monotonic() < ends:
            time.sleep(hook.PAUSE_SECONDS)
    return bool(found) or holder is not None
