"""Reads and checks the manifest of a plugin, `hookbus-plugin.toml`, without importing any code of
the plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from hookbus.exceptions import PluginError

from ._fields import (
    NO_TABLE,
    NO_TEXTS,
    Table,
    flag,
    identifier,
    known_keys,
    plugin_id,
    table_of,
    take,
    text,
    texts,
)
from ._settings import Setting

FILE_NAME: Final = "hookbus-plugin.toml"
FORMAT: Final = 1
MOST_CHARACTERS: Final = 100_000
DEEPEST: Final = 50
"""The maximum number of parts of a key, and the maximum nesting depth of values."""

_KEYS: Final = (
    "format", "id", "version", "description", "entry", "enabled", "hooks", "provides", "requires",
    "settings",
)  # fmt: skip
_REQUIRES: Final = ("packages", "programs", "environment", "plugins")
_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_KEY: Final = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{{DEEPEST}}}")
_ENTRY: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*")


@attrs.frozen(kw_only=True)
class Manifest:
    """The contents of a manifest.

    Attributes:
        entry: for a folder, the module and function that register the plugin, such as
            `"plugin:register"`.
        enabled: whether the plugin is on by default.
        hooks: the signals to which the plugin connects receivers.
        provides: kinds, such as `"tool"`, with the names of the objects that the plugin provides.
        packages: Python distributions that the plugin needs, such as `"httpx>=0.27"`.
        programs: programs that the plugin needs on the PATH.
        environment: environment variables that the plugin needs.
        plugins: ids of other plugins that the plugin needs.
        settings: the settings that the operator can set.
    """

    id: str
    version: str
    description: str
    entry: str
    enabled: bool
    hooks: tuple[str, ...]
    provides: Mapping[str, tuple[str, ...]]
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    environment: tuple[str, ...]
    plugins: tuple[str, ...]
    settings: Mapping[str, Setting]


def read_manifest(source: bytes) -> Manifest:
    """Return the manifest parsed from a TOML string.

    Raises:
        PluginError: if the manifest is not valid; the message names the first error and how to
            correct it.
    """
    table = _parse(source)
    _check_format(table)
    known_keys(table, _KEYS, "the manifest")
    requires = take(table, "requires", table_of, NO_TABLE)
    known_keys(requires, _REQUIRES, "[requires]")
    return Manifest(
        id=take(table, "id", plugin_id),
        version=take(table, "version", text),
        description=take(table, "description", text, ""),
        entry=take(table, "entry", _entry, "plugin:register"),
        enabled=take(table, "enabled", flag, True),
        hooks=tuple(identifier("hooks", name) for name in take(table, "hooks", texts, NO_TEXTS)),
        provides={text("provides", kind): texts(f"provides.{kind}", names)
                  for kind, names in take(table, "provides", table_of, NO_TABLE).items()},
        packages=take(requires, "packages", texts, NO_TEXTS),
        programs=take(requires, "programs", texts, NO_TEXTS),
        environment=take(requires, "environment", texts, NO_TEXTS),
        plugins=tuple(plugin_id("requires.plugins", name)
                      for name in take(requires, "plugins", texts, NO_TEXTS)),
        settings={name: Setting.of(name, value)
                  for name, value in take(table, "settings", table_of, NO_TABLE).items()},
    )  # fmt: skip


def _parse(source: bytes) -> Table:
    import tomllib

    try:
        written = source.decode("utf-8")
        _check_size(written)
        table = tomllib.loads(written)
    except (ValueError, RecursionError) as error:
        raise PluginError(
            f"the manifest is not valid TOML ({type(error).__name__}: {error})", "fix it there"
        ) from None
    _check_values(table)
    return table


def _check_size(source: str) -> None:
    """Reject a source that would take long to parse, because parsing a dotted key takes quadratic
    time."""
    if len(source) > MOST_CHARACTERS:
        most = f"at most {MOST_CHARACTERS:,} are allowed"
        problem = f"the manifest has {len(source):,} characters, but {most}"
        raise PluginError(problem, "move everything else to another file")
    if _DEEP_KEY.search(source):
        problem = f"the manifest has a key with more than {DEEPEST} parts"
        raise PluginError(problem, "shorten the key")


def _check_values(table: Table) -> None:
    """Reject integers of more than 64 bits, and values that are nested too deeply to copy or
    show.
    """
    level: list[Any] = [table]
    for _ in range(DEEPEST):
        inner = [each for value in level for each in _inside(value)]
        if any(isinstance(each, int) and each.bit_length() > 63 for each in inner):
            problem = "the manifest contains an integer of more than 64 bits"
            raise PluginError(problem, "write a smaller integer")
        level = [each for each in inner if isinstance(each, (dict, list))]
        if not level:
            return
    raise PluginError(
        f"the manifest is nested more than {DEEPEST} levels deep", "reduce the nesting"
    )


def _inside(value: Table | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _check_format(table: Table) -> None:
    """Check the format before any other key, because keys may have different meanings in a newer
    format."""
    number: Any = table.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        problem = "has no format key" if number is None else f"has format = {number!r:.60}"
        raise PluginError(f"the manifest {problem}", f"write format = {FORMAT}")
    if number > FORMAT:
        raise PluginError(
            f"the manifest has format {number}, but this hookbus reads formats up to {FORMAT}",
            "upgrade hookbus, or use an older version of the plugin",
        )


def _entry(key: str, value: object) -> str:
    entry = text(key, value)
    if not _ENTRY.fullmatch(entry):
        raise PluginError(
            f"entry = {entry!r:.60} does not name a module in the plugin's folder and a function",
            'write entry = "plugin:register" for the function register in plugin.py',
        )
    return entry
