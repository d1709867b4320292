"""Read and check the settings in `[tool.hookbus]` of a pyproject.toml, or in a hookbus.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from .._external.trust import check_trust, read_toml
from .._ground.errors import did_you_mean
from ..exceptions import HookError

PLACES: Final = ("workspace", "user", "bundled")
_NAMES: Final = "a list of strings"
_SHAPES: Final[dict[str, dict[str, str]]] = {
    "": {
        "journal": "a string", "approvals": "a string", "people": "a string",
        "plugins": "a table", "adapters": _NAMES, "shadow": _NAMES, "require_guard": _NAMES,
        "gate": "a table",
    },
    "plugins": {
        "workspace": "a string", "user": "a string", "bundled": "a string",
        "installed": "true or false", "allow": _NAMES, "deny": _NAMES, "enable": _NAMES,
        "settings": "a table", "overrides": "a table",
    },
}  # fmt: skip
"""The keys of each table, with the types of their values."""


@attrs.frozen
class Settings:
    """The settings of a project.

    Attributes:
        file: the file that contains the settings, or None if no file has settings.
        journal: the journal that `hookbus run` writes and other commands read.
        approvals: the store of approvals.
        people: the file that lists the people who may approve.
        plugins: the arguments of `load_plugins`, or None if no plugins are configured.
        adapters: the names of the adapters to install.
        shadow: the names of guards that run in shadow mode.
        require_guard: the hooks that must have a guard for every call.
        gate: the table for `hookbus gate`, which checks the table itself.
    """

    file: Path | None = None
    journal: Path | None = None
    approvals: Path | None = None
    people: Path | None = None
    plugins: Mapping[str, Any] | None = None
    adapters: tuple[str, ...] = ()
    shadow: tuple[str, ...] = ()
    require_guard: tuple[str, ...] = ()
    gate: Mapping[str, Any] = attrs.field(factory=dict)


def find_settings(folder: Path | None = None) -> Settings:
    """Return the settings of the nearest folder with settings, from a folder upwards.

    Args:
        folder: the folder where the search starts. None means the current folder.

    Raises:
        HookError: if a file cannot be read, or contains an unknown key.
    """
    start = (folder or Path.cwd()).absolute()
    for each in (start, *start.parents):
        if (own := each / "hookbus.toml").is_file():
            return read_settings(own)
        if (project := each / "pyproject.toml").is_file():
            found = read_settings(project)
            if found.file is not None:
                return found
    return Settings()


def find_user_file() -> Path:
    """Return the path of the settings file of the user, which `hookbus gate` reads by default."""
    return Path.home() / ".config" / "hookbus" / "hookbus.toml"


def read_settings(file: Path) -> Settings:
    """Return the settings in a hookbus.toml, or in the table `[tool.hookbus]` of another file.

    Raises:
        HookError: if the file cannot be read, has an unknown key, or has a value of the wrong type.
            The error is also raised if another user could have written the file, because settings
            can put guards in shadow mode.
    """
    table, status = read_toml(file)
    where = f"{file}"
    if file.name != "hookbus.toml":
        tool = table.get("tool", {})
        if not isinstance(tool, dict) or "hookbus" not in tool:
            return Settings()
        table, where = tool["hookbus"], f"{file}: [tool.hookbus]"
    check_trust(file, status)
    _check(where, "", table)
    plugins = table.get("plugins")
    if plugins is not None:
        _check(f"{where} plugins", "plugins", plugins)
        plugins = {
            name: beside(file, value) if name in PLACES else value
            for name, value in plugins.items()
        }
    journal, approvals, people = (
        beside(file, table[name]) if name in table else None
        for name in ("journal", "approvals", "people")
    )
    adapters, shadow, require_guard = (
        tuple(table.get(name, ())) for name in ("adapters", "shadow", "require_guard")
    )  # fmt: skip
    return Settings(
        file, journal, approvals, people, plugins, adapters, shadow, require_guard,
        table.get("gate", {}),
    )


def beside(file: Path, path: str) -> Path:
    """Return the absolute form of a path in a settings file. A relative path starts at the folder
    of the file.
    """
    return file.parent / Path(path).expanduser()


def hint_for_key(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown key of a table: where the key belongs, or the
    most similar known key.

    Args:
        name: the unknown key.
        known: the keys of the table.
    """
    if name in _SHAPES[""]:
        return "; it belongs to the top level of the settings, before any table"
    return did_you_mean(name, known)


def _check(where: str, table: str, contents: Any) -> None:
    shapes = _SHAPES[table]
    if not isinstance(contents, dict):
        raise HookError(f"{where} must be a table")
    for name, value in contents.items():
        if name not in shapes:
            raise HookError(f"{where} has an unknown key {name!r}{hint_for_key(name, shapes)}")
        if not _is(shapes[name], value):
            raise HookError(f"{where} {name} = {value!r:.60} must be {shapes[name]}")


def _is(shape: str, value: Any) -> bool:
    if shape == _NAMES:
        return isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    if shape == "a string":
        return isinstance(value, str) and bool(value)
    return isinstance(value, dict if shape == "a table" else bool)
