"""The entries of the gate in the settings file of an agent."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any, Final

from . import hook
from ._agents import AGENTS, Agent

MARK: Final = "hookbus/gate/hook.py"
"""A text in the command of each of our entries. Other commands may have it too."""

NAME: Final = "hookbus"
LONGEST_SECONDS: Final = 86_400
"""The deadline of the agent, which opens. The gate's own comes long before."""

_CLOSED: Final = "the gate did not run, so the event is closed"
_REFUSES: Final = (
    f"c=$?; [ $c = {hook.GO} ] && exit 0; "
    f"[ $c = {hook.REFUSED} ] || echo 'hookbus: {_CLOSED}' >&2; exit 2"
)
_ENDS: Final = (
    f"[ $? = {hook.GO} ] || "
    f"""echo '{{"continue": false, "stopReason": "hookbus: {_CLOSED}"}}'"""
)
_PASSES: Final = "exit 0"


def command_of(agent: str, event: str, settings: str, seconds: float) -> str:
    """Return the command of an entry. Its shell closes for a hook that cannot even start."""
    words = [sys.executable, "-I", "-S", hook.__file__, agent, settings, f"{seconds:g}", event]
    return _with_ending(words)


def words_of(command: str) -> list[str]:
    """Return the eight words that start the hook; none if the command is not the gate's."""
    try:
        words = shlex.split(command)[:8]
    except ValueError:
        return []
    is_hook = len(words) == 8 and os.path.isabs(words[0]) and words[1:3] == ["-I", "-S"]
    if not is_hook or not words[3].endswith(f"/{MARK}") or words[4] not in AGENTS:
        return []
    return [*words[:7], words[7].removesuffix(";")]


def _with_ending(words: list[str]) -> str:
    agent, event = words[4], words[7]
    if event not in hook.GUARDED:
        ending = _PASSES
    elif agent == "claude" and event in hook.AFTER:
        ending = _ENDS
    else:
        ending = _REFUSES
    return f"{shlex.join(words)}; {ending}"


def entry_of(agent: Agent, event: str, settings: str, seconds: float) -> dict[str, Any]:
    """Return the entry of an event."""
    own: dict[str, Any] = {
        "type": "command", "command": command_of(agent.name, event, settings, seconds),
        "timeout": LONGEST_SECONDS,
    }  # fmt: skip
    if agent.name == "claude":
        own["onFailure"] = "block"
    if agent.name == "gemini":
        own |= {"name": NAME, "timeout": LONGEST_SECONDS * 1000}
    return {"hooks": [own]}


def is_as_installed(agent: Agent, event: str, entry: Any) -> bool:
    """Return whether `install` would write the gate's part of this entry. The interpreter, the
    settings and the deadline may be others.
    """
    own = [each for each in entry["hooks"] if is_ours(each)]
    expected = entry_of(agent, event, "", 0)
    for each in own:
        words = words_of(each["command"])
        command = _with_ending([*words[:4], agent.name, *words[5:7], event])
        wanted = {**expected["hooks"][0], "command": command}
        if {**entry, "hooks": [each]} != {**expected, "hooks": [wanted]}:
            return False
    return event in agent.events


class WrongShape(Exception):
    """The hooks of a file are not as its agent documents them."""


def hooks_in(value: Any) -> dict[str, list[Any]]:
    """Return the entries of a settings file by event.

    Raises:
        WrongShape: if they have another shape.
    """
    if not isinstance(value, dict):
        raise WrongShape("it is not a JSON object")
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise WrongShape("its hooks are not an object")
    for event, entries in hooks.items():
        if not isinstance(entries, list) or not all(map(_is_entry, entries)):
            raise WrongShape(f"its hooks of {event} are not a list of objects with hooks")
    return hooks


def _is_entry(entry: Any) -> bool:
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(inner, list) and all(isinstance(each, dict) for each in inner)


def is_ours(each: Mapping[str, Any]) -> bool:
    """Return whether a hook of an entry is the gate's."""
    return bool(words_of(str(each.get("command", ""))))


def ours_in(hooks: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """Return the commands of the gate in a file, by event."""
    found = {
        event: [each["command"] for entry in entries for each in entry["hooks"] if is_ours(each)]
        for event, entries in hooks.items()
    }
    return {event: commands for event, commands in found.items() if commands}


def add_ours(value: Any, entries: Mapping[str, dict[str, Any]]) -> Any:
    """Return the contents of a settings file with these entries of the gate, and nothing lost."""
    hooks = hooks_in(value)
    for event, entry in entries.items():
        listed = hooks.get(event, [])
        places = [place for place, each in enumerate(listed) if _is_only_ours(each)]
        before = listed[: places[0]] if places else listed
        hooks = {**hooks, event: [*_others(before), entry, *_others(listed[len(before) :])]}
    return {**value, "hooks": hooks}


def remove_ours(value: Any) -> Any:
    """Return the contents of a settings file without the entries of the gate."""
    hooks = {}
    for event, entries in hooks_in(value).items():
        kept = _others(entries)
        if kept or not entries:
            hooks[event] = kept
    if hooks or not value.get("hooks"):
        return {**value, "hooks": hooks} if "hooks" in value else value
    return {name: each for name, each in value.items() if name != "hooks"}


def _others(entries: list[Any]) -> list[Any]:
    return [_without_ours(each) for each in entries if not _is_only_ours(each)]


def _is_only_ours(entry: Any) -> bool:
    return bool(entry["hooks"]) and all(map(is_ours, entry["hooks"]))


def _without_ours(entry: Any) -> Any:
    return {**entry, "hooks": [each for each in entry["hooks"] if not is_ours(each)]}
