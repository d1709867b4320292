"""Normalizes and intersects the lists of allowed tools that handlers return."""

from __future__ import annotations

import re
from typing import Any, Final

from ._values import MISSING

_ALIASES: Final = {"bash": "exec", "apply-patch": "apply_patch", "cron": "automations"}


class _Allowed(list[str]):
    """A list of tools narrowed by several handlers. It keeps all lists, because the intersection of
    two globs is not a glob."""

    lists: tuple[list[str], ...] = ()


def tools_allowed(value: Any) -> list[str] | None:
    """Normalize a handler's list of allowed tools: None if it is missing, an empty list if it is
    malformed."""
    if value is MISSING:
        return None
    is_list = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return value if isinstance(value, _Allowed) else list(value) if is_list else []


def intersected(one: list[str], other: list[str]) -> list[str]:
    """Return the names and globs that both lists allow."""
    lists = (*_lists(one), *_lists(other))
    common = lists[0]
    for each in lists[1:]:
        common = _common(common, each)
    made = _Allowed(common)
    made.lists = lists
    return made


def _lists(tools: list[str]) -> tuple[list[str], ...]:
    return tools.lists if isinstance(tools, _Allowed) else (tools,)


def _common(one: list[str], other: list[str]) -> list[str]:
    if not one or not other:
        return []
    one, other = (
        list(dict.fromkeys(name for name in map(tool_id, tools) if name)) for tools in (one, other)
    )
    if "*" in one:
        return other
    if "*" in other:
        return one
    return [
        name
        for name in dict.fromkeys([*one, *other])
        if _allows(one, name) and _allows(other, name)
    ]


def tool_id(name: str) -> str:
    """Normalize the name of a tool, so that policies can compare names."""
    name = name.strip().lower()
    return _ALIASES.get(name, name)


def _allows(tools: list[str], name: str) -> bool:
    if not tools:
        return True
    names = (name, "write") if name == "apply_patch" else (name,)
    globs = [re.compile(".*".join(map(re.escape, tool.split("*")))) for tool in tools]
    return any(glob.fullmatch(each) for glob in globs for each in names)
