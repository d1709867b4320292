"""Reads and checks the table `[gate]` of a hookbus.toml."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from .. import HookError, guards
from .._external.trust import read_trusted_toml
from .._ground.errors import did_you_mean
from .._ground.numbers import is_number
from .._program.settings import Settings, beside, hint_for_key, read_settings
from ._agents import GROUPS, expand_rule

DEADLINE_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 86_400.0
HERE: Final = "."
"""Stands in `paths_within` for the folder in which the session began."""

_SECONDS: Final = f"a number of seconds from 0 to {LONGEST_SECONDS:g}"


@attrs.frozen
class GateSettings:
    """The settings of the gate.

    Attributes:
        rules: the file of `tool_policy`.
        paths_within: the folders that must contain all paths.
        redact: the arguments of `guards.redact`, or None.
        rate_limit: the number of calls for each session, or None.
        wait: the number of seconds that a call waits for a person, in addition to the deadline.
        ask: where approvals are requested: `"store"` or `"agent"`.
        deadline: the time limit for one event, in seconds.
        codex_stdin: `"closed"` or `"open"`.
        lost: what happens to sessions that began before the server: `"block"` or `"fresh"`.
        values: whether the journal contains the values of arguments and results.
        settings: the other keys of the file.
    """

    settings: Settings
    rules: Path | None = None
    paths_within: tuple[str, ...] = ()
    redact: Mapping[str, Any] | None = None
    rate_limit: int | None = None
    wait: float = 0.0
    ask: str = "store"
    deadline: float = DEADLINE_SECONDS
    codex_stdin: str = "closed"
    lost: str = "block"
    values: bool = False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_folders(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_folder, value))


def _is_folder(value: Any) -> bool:
    return _is_text(value) and (value == HERE or os.path.isabs(os.path.expanduser(value)))


def _is_seconds(value: Any) -> bool:
    return is_number(value) and math.isfinite(value) and 0 <= value <= LONGEST_SECONDS


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_SHAPES: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "rules": ("a string", _is_text),
    "paths_within": (f"a list of absolute folders, or {HERE!r}", _is_folders),
    "redact": ("true or a table", lambda value: value is True or isinstance(value, dict)),
    "rate_limit": ("a whole number from 1", _is_count),
    "wait": (_SECONDS, _is_seconds),
    "ask": ("'store' or 'agent'", ("store", "agent").__contains__),
    "deadline": ("a number of seconds above 0", lambda value: _is_seconds(value) and value > 0),
    "codex_stdin": ("'closed' or 'open'", ("closed", "open").__contains__),
    "lost": ("'block' or 'fresh'", ("block", "fresh").__contains__),
    "values": ("true or false", lambda value: isinstance(value, bool)),
}


def read_gate_settings(file: Path) -> GateSettings:
    """Return the settings of the gate in a file.

    Raises:
        HookError: if the file cannot be read, or has an unknown key or a value of the wrong type.
    """
    settings = read_settings(file)
    if settings.file is None:
        raise HookError(f"{file} has no table [tool.hookbus]")
    given = settings.gate
    for name, value in given.items():
        where = f"{file}: [gate]"
        if name not in _SHAPES:
            raise HookError(f"{where} has an unknown key {name!r}{hint_for_key(name, _SHAPES)}")
        shape, is_right = _SHAPES[name]
        if not is_right(value):
            raise HookError(f"{where} {name} = {value!r:.60} must be {shape}")
    found = dict(given)
    if "rules" in found:
        found["rules"] = beside(file, found["rules"])
    if "redact" in found:
        found["redact"] = {} if found["redact"] is True else found["redact"]
    folders = found.get("paths_within", ())
    found["paths_within"] = tuple(os.path.expanduser(each) for each in folders)
    return GateSettings(settings, **found)


def load_rules(file: Path) -> guards.tool_policy:
    """Create the guard from a file of rules, in which `"group:NAME"` stands for the agents' own
    names of tools.

    Raises:
        HookError: if the file cannot be read or contains an invalid rule, or if another user could
            have written it.
    """
    given = read_trusted_toml(file)
    try:
        rules = {name: value if name == "default" else _expand_rules(value)
                 for name, value in given.items()}  # fmt: skip
    except KeyError as error:
        group = str(error.args[0])
        hint = did_you_mean(group, [f"group:{each}" for each in GROUPS])
        raise HookError(f"{file}: there is no group {group!r}{hint}") from None
    return guards.tool_policy._of_file(file, rules)


def _expand_rules(rules: Any) -> Any:
    several = rules if isinstance(rules, list) else [rules]
    return [each for rule in several for each in expand_rule(rule)]
