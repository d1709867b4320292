"""Checks TOML values. Each check returns a valid value or raises `PluginError` with advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from hookbus.exceptions import PluginError

from .._ground.errors import did_you_mean

T = TypeVar("T")
Table = dict[str, Any]

NO_TEXTS: Final[tuple[str, ...]] = ()
NO_TABLE: Final[Table] = {}
_ID: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


def known_keys(table: Table, known: Collection[str], where: str) -> None:
    """Raise PluginError for an unknown key."""
    for key in table:
        if key not in known:
            raise PluginError(
                f"{where} has an unknown key {key!r}{did_you_mean(key, known)}",
                "correct or remove it",
            )


def take(table: Table, key: str, check: Callable[[str, Any], T], default: T | None = None) -> T:
    """Return the checked value of a key, or the default if the key is missing. If the default is
    None, the key is required.

    Raises:
        PluginError: if a required key is missing, or its value is not valid.
    """
    if key in table:
        return check(key, table[key])
    if default is None:
        raise PluginError(f"{key} is missing", f"write {key} = ...")
    return default


def text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PluginError(f"{key} = {value!r:.60} is not a usable string", f'write {key} = "..."')
    return value


def flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise PluginError(
            f"{key} = {value!r:.60} is neither true nor false",
            f"write {key} = true or {key} = false",
        )
    return value


def texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise PluginError(
            f"{key} = {value!r:.60} is not a list of strings", f'write {key} = ["...", "..."]'
        )
    return tuple(dict.fromkeys(value))


def table_of(key: str, value: object) -> Table:
    if not isinstance(value, dict):
        raise PluginError(
            f"{key} = {value!r:.60} is not a table", f"write [{key}] and its keys below it"
        )
    return value


def identifier(key: str, value: object) -> str:
    name = text(key, value)
    if not name.isidentifier():
        raise PluginError(
            f"{key} contains {name!r:.60}, which is not an identifier",
            "write a name such as pre_reply",
        )
    return name


def plugin_id(key: str, value: object) -> str:
    name = text(key, value)
    if not _ID.fullmatch(name):
        raise PluginError(
            f"{key} contains {name!r:.60}, which is not a plugin id",
            "write lower-case words joined by - or _, such as web-search",
        )
    return name
