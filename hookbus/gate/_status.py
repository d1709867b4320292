"""Determines whether the gate of each agent works, for `hookbus gate status`."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from .. import HookError
from . import _hook as hook
from ._agents import Agent
from ._codex_trust import find_trust_problems
from ._entries import (
    MARK,
    WrongShape,
    command_in,
    hooks_in,
    inner_of,
    is_as_installed,
    is_ours,
    ours_in,
    words_of,
)
from ._files import read_json
from ._install import State, check, list_limits
from ._plugin import is_plugin_as_installed, words_in_plugin
from ._settings import read_gate_settings
from ._switches import find_switches, settings_files

_TYPES: Final = {
    "claude": ("command", "prompt", "agent", "http", "mcp_tool"),
    "codex": ("command", "prompt", "agent"),
}
"""The types of hooks that an agent supports. If a file contains any other type, the agent runs no
hook of this file.
"""

_CHANGED_ARGUMENTS: Final = ("updatedInput", "updated_input", "modifiedArgs")


def status_of(agent: Agent, settings: Path) -> dict[str, Any]:
    """Return the status of an agent's gate, as `hookbus gate status` shows it.

    Args:
        agent: the agent.
        settings: the settings of the gate, for entries that name no settings.
    """
    installed, problems, named = list[str](), list[str](), list[str]()
    for file in settings_files(agent):
        commands, found = _read(agent, file)
        problems += found
        if commands:
            installed.append(str(file))
            problems += _missing(agent, file, commands)
            named += [_settings_in(command) for each in commands.values() for command in each]
    asked = list(dict.fromkeys(each for each in named if each)) or [str(settings)]
    answers = [check(Path(each)) for each in asked] if installed else []
    lines = [each.line for each in answers if each.line]
    if not installed:
        return _row(agent, [], [], "not installed", None)
    if agent.name == "codex":
        problems += find_trust_problems()
    problems += [*find_switches(agent), *lines]
    row = _row(agent, installed, problems, lines[0] if lines else "answers", _last(agent, answers))
    row["settings"] = [_describe(*each) for each in zip(asked, answers, strict=True)]
    for each in asked:
        row["cannot"] += _find_openings(agent, each)
    return row


def _row(
    agent: Agent, files: list[str], problems: list[str], gate: str, last: dict[str, str] | None
) -> dict[str, Any]:
    return {
        "agent": agent.name, "installed": files, "problems": list(dict.fromkeys(problems)),
        "cannot": list_limits(agent.name), "gate": gate, "last": last, "settings": [],
    }  # fmt: skip


def _describe(settings: str, state: State) -> dict[str, Any]:
    """Return the files of a gate, and the rules that have matched no call of its server."""
    found: dict[str, Any] = {"file": settings, "journal": None, "approvals": None}
    with contextlib.suppress(HookError):  # it is already a problem
        own = read_gate_settings(Path(settings)).settings
        found |= {name: None if file is None else str(file)
                  for name, file in (("journal", own.journal), ("approvals", own.approvals))}
    return {**found, "log": f"{hook.place(settings)}.log", "unused_rules": [*state.unused]}


def _find_openings(agent: Agent, settings: str) -> Iterator[str]:
    """Yield the actions of an agent that the settings take away from the guards."""
    try:
        gate = read_gate_settings(Path(settings))
    except HookError:
        return  # it is already a problem, and the gate blocks
    if agent.name == "codex" and gate.codex_stdin == "open":
        why = f'{settings} has codex_stdin = "open"'
        yield f"what a model types into a running command, which no guard sees: {why}"
    for name in gate.settings.shadow:
        yield f"what {name} would block: {settings} puts this guard in shadow mode"


def _last(agent: Agent, states: list[State]) -> dict[str, str] | None:
    """Return the time of an agent's last event, and the version of hookbus that answered."""
    asked = [(each.last[agent.name], each.version) for each in states if agent.name in each.last]
    if not asked:
        return None
    at, version = max(asked)
    return {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)), "version": version}


def _read(agent: Agent, file: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return the gate's commands in a file, by event, and a description of a problem with the
    file."""
    if agent.name == "opencode":
        return _read_plugin(agent, file)
    try:
        hooks = hooks_in(agent, read_json(file))
    except (HookError, WrongShape) as error:
        is_whole = isinstance(error, HookError)
        commands = {"": [""]} if MARK in _text_of(file) else {}
        return commands, [str(error) if is_whole else f"{file}: {error}"]
    known, problems, ours = _TYPES.get(agent.name), list[str](), ours_in(hooks)
    for event, entries in hooks.items():
        problems += _changed(agent, file, event, entries)
        for each in (each for entry in entries for each in inner_of(entry)):
            kind = each.get("type")
            if known is not None and kind not in known:
                problems.append(
                    f"{file}: a hook of {event} has the type {kind!r}, and {agent.name} then runs "
                    "no hook of this file"
                )
            if agent.events.get(event) == "before" and not is_ours(each) and _rewrites(each):
                problems.append(
                    f"{file}: another hook of {event} rewrites arguments, and the new ones "
                    f"are not checked: {command_in(each)!r:.80}"
                )
    return ours, problems if ours else []


def _read_plugin(agent: Agent, file: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return the gate's command in the plugin for OpenCode, and a description of a problem with the
    plugin."""
    text = _text_of(file)
    if MARK not in text:
        return {}, []
    words = words_in_plugin(text)
    if not words or not is_plugin_as_installed(text):
        return {"": [""]}, [_explain_change(agent, str(file))]
    return {event: [shlex.join([*words, event])] for event in agent.events}, []


def _explain_change(agent: Agent, what: str) -> str:
    return (
        f"{what} is not as install writes it, so the agent may not ask or obey the gate: "
        f"run hookbus gate install {agent.name}"
    )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    except OSError:
        return ""  # the agent cannot read it, either


def _changed(agent: Agent, file: Path, event: str, entries: list[Any]) -> Iterator[str]:
    own = [entry for entry in entries if any(map(is_ours, inner_of(entry)))]
    if not all(is_as_installed(agent, event, entry) for entry in own):
        yield _explain_change(agent, f"{file}: the entry of the gate for {event}")


def _rewrites(each: Any) -> bool:
    """Return whether a command, or a file that the command names, contains the key with which
    answers change arguments.
    """
    command = command_in(each)
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return any(word in command for word in _CHANGED_ARGUMENTS) or any(map(_file_rewrites, words))


def _file_rewrites(word: str) -> bool:
    path = Path(os.path.expandvars(os.path.expanduser(word)))
    try:
        is_text = path.is_file() and path.stat().st_size < 1 << 20
        data = path.read_bytes() if is_text else b""
        return any(word.encode() in data for word in _CHANGED_ARGUMENTS)
    except OSError:
        return False


def _missing(agent: Agent, file: Path, commands: dict[str, list[str]]) -> Iterator[str]:
    for event in agent.events:
        if event not in commands and "" not in commands:
            yield f"{file} has no entry for {event}: run hookbus gate install {agent.name}"
    for command in dict.fromkeys(each for found in commands.values() for each in found if each):
        words = words_of(command)
        for place, what in ((0, "interpreter"), (3, "hook"), (5, "settings file")):
            if words and not os.path.exists(words[place]):
                again = f"run hookbus gate install {agent.name}"
                yield f"the {what} of {file} is gone: {words[place]}: {again}"


def _settings_in(command: str) -> str:
    words = words_of(command)
    return words[5] if words else ""
