"""Locates the agents' own settings, of the user and of projects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

_NAMES: Final = {
    ".claude": ("settings",), ".codex": ("hooks.json", "config.toml"),
    ".gemini": ("settings.json",), ".cursor": ("hooks.json",),
    ".copilot": ("hooks", "settings", "config.json"), ".github": ("hooks",),
    ".github/copilot": ("settings",), ".config/opencode": ("plugin", "opencode.json"),
    ".opencode": ("plugin", "opencode.json"),
}  # fmt: skip
"""For each folder, the prefixes of the names of settings. The folder is in the home folder or in a
project.
"""

_VARIABLES: Final = {
    "CLAUDE_CONFIG_DIR": (".claude", ""), "CODEX_HOME": (".codex", ""),
    "COPILOT_HOME": (".copilot", ""), "XDG_CONFIG_HOME": (".config/opencode", "opencode"),
    "GEMINI_CLI_HOME": (".gemini", ".gemini"),
}  # fmt: skip
"""For each environment variable that replaces one of these folders, the replaced folder and the
path inside the variable's folder.
"""

FILES: Final = tuple(f"{folder}/{name}" for folder, names in _NAMES.items() for name in names)
"""The prefixes of the paths of settings, in the home folder or in a project."""

FILES_OF_PROJECTS: Final = ("opencode.json",)
"""The prefixes of the names of settings directly in the folder of a project."""

FOLDERS: Final = tuple(f"/{folder}/" for folder in _NAMES)
"""The folders that contain settings."""


def find_settings(
    home: str, base: str, projects: Iterable[str], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the current path prefixes of the agents' settings, with resolved and with unresolved
    links. The prefixes are normalized by `folded`, and must be compared with paths that end with a
    slash.

    Args:
        home: the home folder of the agent's user.
        base: the folder from which relative paths are resolved.
        projects: folders that may contain project settings.
        variables: the environment variables of the agent.
    """
    places = {(os.path.join(home, folder), names) for folder, names in _NAMES.items()}
    places |= {(os.path.join(base, variables[variable], inner), _NAMES[folder])
               for variable, (folder, inner) in _VARIABLES.items()
               if variables.get(variable)}  # fmt: skip
    places |= {(os.path.join(project, folder), names) for project in {base, *projects}
               for folder, names in _NAMES.items() if _has_settings(project, folder, names)
               }  # fmt: skip
    return tuple({folded(each) for folder, names in places for each in _begin(folder, names)})


def _has_settings(project: str, folder: str, names: tuple[str, ...]) -> bool:
    """Return whether a folder of a project contains settings or is reached through a link. All
    other folders may be removed together with the project.
    """
    whole = os.path.join(project, folder)
    is_link = os.path.realpath(whole) != os.path.join(os.path.realpath(project), folder)
    return is_link or any(map(_named(names), _entries_of(whole)))


def _named(names: tuple[str, ...]) -> Callable[[os.DirEntry[str]], bool]:
    return lambda entry: folded(entry.name).startswith(names)


def _begin(folder: str, names: tuple[str, ...]) -> Iterator[str]:
    for each in {os.path.abspath(folder), os.path.realpath(folder)}:
        yield from (os.path.join(each, name) for name in names)
    for entry in filter(_named(names), _entries_of(folder)):
        linked = (each for each in (entry, *_entries_of(entry)) if each.is_symlink())
        yield from (f"{os.path.realpath(each.path)}/" for each in linked)


def _entries_of(folder: str | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, or an empty list if it is not a readable folder."""
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except OSError:
        return []


def folded(text: str) -> str:
    """Normalize the case of a path or a command, as case-insensitive file systems do."""
    return text.casefold()
