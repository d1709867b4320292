"""Finds the settings of an agent that switch the hooks of the gate off."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from .. import HookError
from ._agents import Agent
from ._entries import MARK, NAME, WrongShape, command_in, hooks_in, inner_of
from ._files import file_of, read_json

_MANAGED: Final = Path(
    "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
)
"""The folder of the settings of Claude Code that an administrator manages."""

_VARIABLES: Final = ("CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")
"""The environment variables with which Claude Code runs no hook of its user."""

_OFF: Final = ("", "0", "false", "no", "off")

_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "apiKeyHelper": str, "cleanupPeriodDays": int, "disableAllHooks": bool,
    "enabledPlugins": dict, "env": dict, "includeCoAuthoredBy": bool, "model": str,
    "outputStyle": str, "permissions": dict, "sandbox": dict, "statusLine": dict,
}  # fmt: skip
"""The types of common settings of Claude Code."""


def find_switches(agent: Agent) -> Iterator[str]:
    """Yield the settings of the user and of the current folder that switch hooks off."""
    for file in _files_with_switches(agent):
        try:
            value = read_json(file)
        except HookError:
            continue  # it is already a problem
        if isinstance(value, dict):
            yield from _switches_in(agent, file, value)
    if agent.name == "codex":
        for is_project in (False, True):
            yield from _codex_switched_off(file_of(agent, is_project=is_project))
    if agent.name == "claude":
        for name in _VARIABLES:
            if os.environ.get(name, "").lower() not in _OFF:
                yield f"the environment variable {name} switches the gate off"
        for file in (
            _MANAGED / "managed-settings.json",
            *_MANAGED.glob("managed-settings.d/*.json"),
        ):
            yield from _managed(file)


def settings_files(agent: Agent) -> list[Path]:
    """Return an agent's settings files of the user and of the current folder."""
    found = [file_of(agent, is_project=False), file_of(agent, is_project=True)]
    if agent.name == "claude":
        found += [each.with_name("settings.local.json") for each in found]
    return [each for each in dict.fromkeys(found) if each.exists()]


def _files_with_switches(agent: Agent) -> list[Path]:
    if agent.name == "opencode":
        return []
    found = settings_files(agent)
    if agent.name == "copilot":
        home, here = file_of(agent, is_project=False).parent.parent, Path.cwd() / ".github"
        found += [home / "settings.json", home / "config.json"]
        found += [here / "copilot" / f"settings{each}.json" for each in ("", ".local")]
    return found


def _switches_in(agent: Agent, file: Path, value: Mapping[str, Any]) -> Iterator[str]:
    if agent.name in ("claude", "copilot") and value.get("disableAllHooks"):
        yield f"{file}: disableAllHooks switches the gate off"
    if agent.name == "claude":
        yield from _claude_switched_off(agent, file, value)
    config = value.get("hooksConfig") if agent.name == "gemini" else None
    if not isinstance(config, dict):
        return
    if config.get("enabled") not in (True, None):  # 0, an empty string and "false" are false, too
        is_set = json.dumps(config["enabled"])
        yield f"{file}: hooksConfig.enabled = {is_set:.40} switches the gate off"
    names = config.get("disabled")
    names = [names] if isinstance(names, str) else names
    if isinstance(names, (list, dict)) and any(
        str(each) == NAME or MARK in str(each) for each in names
    ):
        yield f"{file}: hooksConfig.disabled names the gate"


def _claude_switched_off(agent: Agent, file: Path, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the variables that switch hooks off, and values of a wrong type. Claude Code ignores
    the whole file if any value has a wrong type; newer releases allow wrong types in hooks.
    """
    given = value.get("env")
    variables = given if isinstance(given, dict) else {}
    for name in _VARIABLES:
        if str(variables.get(name, "")).lower() not in _OFF:
            yield f"{file}: {name} in env switches the gate off"
    if "CLAUDE_CONFIG_DIR" in variables:
        yield f"{file}: CLAUDE_CONFIG_DIR in env names another folder of settings"
    wrong = [name for name, kind in _TYPES.items()
             if name in value and not _has_type(value[name], kind)]  # fmt: skip
    for name in (*wrong, *_wrong_hooks(agent, value)):
        yield f"{file}: {name} has a wrong type, and claude may then ignore the whole file"


def _has_type(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


def _wrong_hooks(agent: Agent, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places in hooks that have a wrong type."""
    try:
        hooks = hooks_in(agent, value)
    except WrongShape:
        return  # it is already a problem
    for event, entries in hooks.items():
        for entry in entries:
            if not isinstance(entry.get("matcher", ""), str):
                yield f"a matcher of {event}"
            for each in inner_of(entry):
                if each.get("type") == "command" and not isinstance(each.get("command"), str):
                    yield f"the command of a hook of {event}"
                if not _has_type(each.get("timeout", 1), (int, float)):
                    yield f"the timeout of {command_in(each)!r:.40}"


def _managed(file: Path) -> Iterator[str]:
    try:
        value = read_json(file)
    except HookError as error:
        yield str(error)
        return
    if not isinstance(value, dict):
        return
    plugins_only = value.get("strictPluginOnlyCustomization")
    found = {
        "disableAllHooks": value.get("disableAllHooks") is True,
        "allowManagedHooksOnly": value.get("allowManagedHooksOnly") is True,
        "strictPluginOnlyCustomization": plugins_only is True
        or (isinstance(plugins_only, list) and "hooks" in plugins_only),
    }
    yield from (f"{file}: {name} switches the gate off" for name, is_off in found.items() if is_off)


def _codex_switched_off(hooks: Path) -> Iterator[str]:
    file = hooks.with_name("config.toml")
    try:
        features = tomllib.loads(file.read_text(encoding="utf-8")).get("features", {})
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        yield f"{file} cannot be read: {error}"
        return
    for name in ("hooks", "codex_hooks"):
        if isinstance(features, dict) and features.get(name) is False:
            yield f"{file}: [features] {name} = false switches the gate off"
