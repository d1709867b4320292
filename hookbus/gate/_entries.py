"""The entries of the gate in the settings file of an agent."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any, Final

from . import _hook as hook
from ._agents import AGENTS, Agent

MARK: Final = "hookbus/gate/hook.py"
"""A string in the command of each of the gate's entries. Other commands may also contain this
text."""

NAME: Final = "hookbus"
VERSION: Final = 1
"""The version of the settings files of agents with flat entries."""

LONGEST_SECONDS: Final = 86_400
"""The agent's own deadline, which fails open. The gate's deadline is much shorter."""

_CLOSED: Final = "the gate did not run, so the event is blocked"
_REFUSES: Final = (
    f"c=$?; [ $c = {hook.GO} ] && exit 0; "
    f"[ $c = {hook.REFUSED} ] || echo 'hookbus: {_CLOSED}' >&2; exit 2"
)
_PASSES: Final = "exit 0"
_KEYS: Final = ("command", "bash")
"""The keys under which an entry may contain its command. Copilot uses `bash`."""


def command_of(agent: str, event: str, settings: str, seconds: float) -> str:
    """Return the command of an entry. The shell of the command blocks the event if the hook cannot
    start.
    """
    return _with_ending([*hook_words(agent, settings, seconds), event])


def hook_words(agent: str, settings: str, seconds: float) -> list[str]:
    """Return the words of the command that starts the hook. The name of an event must follow."""
    return [sys.executable, "-I", "-S", hook.FILE, agent, settings, f"{seconds:g}"]


def starts_hook(words: list[str]) -> bool:
    """Return whether `hook_words` could have returned these words, with any interpreter, folder of
    the hook, agent, settings and deadline.
    """
    is_isolated = len(words) == 7 and os.path.isabs(words[0]) and words[1:3] == ["-I", "-S"]
    return is_isolated and words[3].endswith(f"/{MARK}") and words[4] in AGENTS


def words_of(command: str) -> list[str]:
    """Return the eight words of a command that starts the hook, or an empty list for any other
    command."""
    try:
        words = shlex.split(command)[:8]
    except ValueError:
        return []
    if len(words) < 8 or not starts_hook(words[:7]):
        return []
    return [*words[:7], words[7].removesuffix(";")]


def _with_ending(words: list[str]) -> str:
    agent, event = words[4], words[7]
    if event not in hook.GUARDED:
        ending = _PASSES
    elif (agent, event) in hook.CLOSES and AGENTS[agent].events[event] in ("after", "failed"):
        answer = hook.CLOSES[agent, event].decode() % f"hookbus: {_CLOSED}"
        ending = f"[ $? = {hook.GO} ] || echo '{answer}'"
    else:
        ending = _REFUSES
    return f"{shlex.join(words)}; {ending}"


def entry_of(agent: Agent, event: str, settings: str, seconds: float) -> dict[str, Any]:
    """Return the entry of an event."""
    command = command_of(agent.name, event, settings, seconds)
    if agent.name == "cursor":
        # Its documents: "By default, command hooks that fail (crash, timeout, invalid JSON) allow
        # the action through. Set failClosed: true".
        own = {"command": command, "timeout": LONGEST_SECONDS}
        return {**own, "failClosed": True} if event in hook.GUARDED else own
    if agent.name == "copilot":
        # Its documents: "Command hook timeouts are always fail-open, even for preToolUse".
        return {"type": "command", "bash": command, "timeoutSec": LONGEST_SECONDS}
    own = {"type": "command", "command": command, "timeout": LONGEST_SECONDS}
    if agent.name == "claude":
        own["onFailure"] = "block"
    if agent.name == "gemini":
        own |= {"name": NAME, "timeout": LONGEST_SECONDS * 1000}
    return {"hooks": [own]}


def inner_of(entry: Mapping[str, Any]) -> list[Any]:
    """Return the hooks of an entry. If the agent's entries are flat, the entry is the hook."""
    return list(entry.get("hooks", [entry]))


def is_as_installed(agent: Agent, event: str, entry: Any) -> bool:
    """Return whether the gate's part of this entry equals what `install` writes, with any
    interpreter, settings and deadline.
    """
    (expected,) = inner_of(entry_of(agent, event, "", 0))
    for each in filter(is_ours, inner_of(entry)):
        words = words_of(command_in(each))
        command = _with_ending([*words[:4], agent.name, *words[5:7], event])
        wanted = {name: command if name in _KEYS else own for name, own in expected.items()}
        rest = {**entry, "hooks": [each]} if "hooks" in entry else each
        if rest != ({"hooks": [wanted]} if "hooks" in entry else wanted):
            return False
    return event in agent.events


class WrongShape(Exception):
    """The hooks of a file do not have the structure that the agent documents."""


def hooks_in(agent: Agent, value: Any) -> dict[str, list[Any]]:
    """Return the entries of a settings file by event.

    Raises:
        WrongShape: if the hooks have a different structure.
    """
    if not isinstance(value, dict):
        raise WrongShape("it is not a JSON object")
    if agent.is_flat and value.get("version", VERSION) != VERSION:
        raise WrongShape(f"its version is not {VERSION}")
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise WrongShape("its hooks are not an object")
    for event, entries in hooks.items():
        if not isinstance(entries, list):
            raise WrongShape(f"its hooks of {event} are not a list")
        if not all(_is_flat_entry(each) if agent.is_flat else _is_entry(each) for each in entries):
            what = "hooks" if agent.is_flat else "objects with hooks"
            raise WrongShape(f"its hooks of {event} are not a list of {what}")
    return hooks


def _is_flat_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and "hooks" not in entry


def _is_entry(entry: Any) -> bool:
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(inner, list) and all(isinstance(each, dict) for each in inner)


def is_ours(each: Mapping[str, Any]) -> bool:
    """Return whether a hook in an entry belongs to the gate."""
    return bool(words_of(command_in(each)))


def command_in(each: Mapping[str, Any]) -> str:
    """Return the command of a hook in an entry, or an empty string."""
    return next((str(each[name]) for name in _KEYS if name in each), "")


def ours_in(hooks: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """Return the gate's commands in a settings file, by event."""
    found = {
        event: [command_in(each) for entry in entries for each in inner_of(entry) if is_ours(each)]
        for event, entries in hooks.items()
    }
    return {event: commands for event, commands in found.items() if commands}


def add_ours(agent: Agent, value: Any, entries: Mapping[str, dict[str, Any]]) -> Any:
    """Return the contents of a settings file with additional entries of the gate."""
    hooks = hooks_in(agent, value)
    for event, entry in entries.items():
        listed = hooks.get(event, [])
        places = [place for place, each in enumerate(listed) if _is_only_ours(each)]
        before = listed[: places[0]] if places else listed
        hooks = {**hooks, event: [*_others(before), entry, *_others(listed[len(before) :])]}
    version = {"version": VERSION} if agent.is_flat and "version" not in value else {}
    return {**version, **value, "hooks": hooks}


def remove_ours(agent: Agent, value: Any) -> Any:
    """Return the contents of a settings file without the entries of the gate. A file with only a
    version counts as empty.
    """
    hooks = {}
    for event, entries in hooks_in(agent, value).items():
        kept = _others(entries)
        if kept or not entries:
            hooks[event] = kept
    if hooks or not value.get("hooks"):
        return {**value, "hooks": hooks} if "hooks" in value else value
    rest = {name: each for name, each in value.items() if name != "hooks"}
    return {} if agent.is_flat and rest.keys() == {"version"} else rest


def _others(entries: list[Any]) -> list[Any]:
    return [_without_ours(each) for each in entries if not _is_only_ours(each)]


def _is_only_ours(entry: Any) -> bool:
    return bool(inner_of(entry)) and all(map(is_ours, inner_of(entry)))


def _without_ours(entry: Any) -> Any:
    if "hooks" not in entry:
        return entry
    return {**entry, "hooks": [each for each in entry["hooks"] if not is_ours(each)]}
