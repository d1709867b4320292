"""`install` and `uninstall`: the gate in the settings file of an agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from .. import HookError
from . import hook
from ._agents import AGENTS, Agent
from ._entries import WrongShape, add_ours, entry_of, hooks_in, ours_in, remove_ours
from ._files import file_of, read_contents, remove_file, write_json
from ._wire import find_older, make_stop_request

CANNOT: Final[dict[str, tuple[str, ...]]] = {
    "claude": (
        "web search and other tools that run at Anthropic",
        "files named with @ in a prompt",
        "the text of a failed tool: it can only be added to",
        "sessions with --bare or with --setting-sources without user, and projects with "
        "disableAllHooks: only managed settings outlive these",
    ),
    "codex": (
        "write_stdin, web search, and the arguments of tools other than Bash, apply_patch and MCP",
        "sub-agents that outlive codex exec",
        "anything before you trust the hook: start codex, open /hooks, and trust it",
    ),
    "gemini": (
        "two equal calls at once: a call has no id",
        "a changed result that is not an error to the model",
        "projects whose hooksConfig disables hooks",
    ),
}
"""What the gate of each agent does not reach."""

ALL_CANNOT: Final = ("what a command does once it runs", "the model itself")


def list_limits(agent: str) -> list[str]:
    """Return what the gate of an agent does not reach."""
    return [*CANNOT[agent], *ALL_CANNOT]


def check(settings: Path) -> tuple[str, dict[str, float]]:
    """Return the line that the gate closes with, which is empty if it answers, and when it was
    last asked by each agent, in seconds since 1970.
    """
    words = [sys.executable, "-I", "-S", hook.__file__, "", str(settings), "10", ""]
    ended = subprocess.run(words, input=b"{}", capture_output=True, check=False)
    if ended.returncode == hook.GO:
        return "", json.loads(ended.stdout)["last"]
    line = ended.stderr.decode("utf-8", "replace").strip()
    return line or f"hookbus: the hook ended with {ended.returncode}", {}


def install(agent: Agent, settings: Path, seconds: float, *, is_project: bool) -> Path:
    """Put the entries of the gate into the settings file of an agent, and return the file.

    Raises:
        HookError: if the gate does not answer, or the file cannot be changed without a loss. Then
            it is as it was.
        OSError: if the file cannot be written.
    """
    file = file_of(agent, is_project=is_project)
    entries = {event: entry_of(agent, event, str(settings), seconds) for event in agent.events}
    problem, _ = check(settings)
    if problem:
        raise HookError(f"nothing is installed: {problem.removeprefix('hookbus: ')}")
    found = read_contents(file)  # not before the check, which can take long enough for an edit
    try:
        changed = add_ours(found.value, entries)
    except WrongShape as error:
        raise HookError(f"{file} is left as it is: {error}") from None
    if changed != found.value:
        write_json(file, changed, read=found.data)
    return file


def uninstall(agent: Agent, *, is_project: bool) -> Path | None:
    """Take the entries of the gate out of the settings file of an agent, and remove the file if
    it has nothing else. Return the file, or None if they are not in it.

    Raises:
        HookError: if the file cannot be changed without a loss. Then it is as it was.
        OSError: if the file cannot be written.
    """
    file = file_of(agent, is_project=is_project)
    found = read_contents(file)
    try:
        if not ours_in(hooks_in(found.value)):
            return None
        changed = remove_ours(found.value)
    except WrongShape as error:
        raise HookError(f"{file} is left as it is: {error}") from None
    if changed or file.is_symlink():
        write_json(file, changed, read=found.data)
    else:
        remove_file(file, read=found.data)
    return file


def agent_named(name: str) -> Agent:
    """Return an agent.

    Raises:
        HookError: if there is none of this name.
    """
    if name not in AGENTS:
        from .._ground.errors import did_you_mean

        raise HookError(f"there is no agent {name!r}{did_you_mean(name, AGENTS)}")
    return AGENTS[name]


def stop(settings: Path) -> bool:
    """End the servers of these settings, and return whether one ran.

    Raises:
        HookError: if one is another user's.
    """
    try:
        paths = [f"{hook.place(str(settings))}.sock", *find_older(str(settings))]
        found = [each for each in map(hook.connect, paths) if each is not None]
    except hook.Closed as error:
        raise HookError(str(error)) from None
    for connection in found:
        connection.sendall(make_stop_request(str(settings)))
        while connection.recv(1 << 10):  # until it has ended its calls
            continue
        connection.close()
    return bool(found)
