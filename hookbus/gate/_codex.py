"""Reads the paths in patches, and closes the stdin of commands for Codex."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from ._agents import Tool

_FILE: Final = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)")
_MARK: Final = re.compile(r"\*\*\* \w")
_KNOWN: Final = re.compile(r"\*\*\* (?:Begin Patch|End Patch|End of File|Environment ID:)")
_PATCH: Final = re.compile(
    r"\s*(?:apply_patch|applypatch) <<\s?(['\"])(\w+)\1\n(?P<patch>.*?)\n\2\s*\Z", re.DOTALL
)

CLOSED: Final = "exec </dev/null\n"
"""The first line of a command with closed stdin. Later input cannot reach the command, unless a
program opens its terminal again, for example with `os.dup2(1, 0)`.
"""

_PLACES_OF_PATCHES: Final = {
    ("codex", "apply_patch"): "command", ("copilot", "apply_patch"): "input",
    ("opencode", "apply_patch"): "patchText", ("opencode", "patch"): "patchText",
}  # fmt: skip
"""The argument that contains a patch, by agent and tool."""


class UnreadablePatch(Exception):
    """The paths in a patch cannot be determined."""


def find_patch(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return the patch in the arguments of a tool, or None if the tool takes no patch.

    Raises:
        UnreadablePatch: if the tool takes a patch, but its arguments contain none.
    """
    place = _PLACES_OF_PATCHES.get((tool.agent, tool.name))
    if place is None:
        return None
    if not isinstance(arguments.get(place), str):
        raise UnreadablePatch(f"{place} of {tool.name} is not a patch")
    return str(arguments[place])


def paths_in(patch: str) -> list[str]:
    """Return the paths that a patch names.

    Raises:
        UnreadablePatch: if the text is not a patch, or contains an unknown kind of line.
    """
    if "*** Begin Patch" not in patch:
        raise UnreadablePatch("the patch has no beginning")
    found = []
    for whole in patch.split("\n"):  # for Codex, only this character ends a line
        line = whole.strip()
        file = _FILE.fullmatch(line)
        if file is not None:
            if _has_control_character(whole.removesuffix("\r")):
                raise UnreadablePatch(f"a path has a control character: {line!a:.60}")
            found.append(file[1])
        elif _MARK.match(line) and not _KNOWN.match(line):
            raise UnreadablePatch(f"the patch has a line of an unknown kind: {line!a:.60}")
    if not found:
        raise UnreadablePatch("the patch names no file")
    return found


def _has_control_character(line: str) -> bool:
    """Return whether a line has a character that ends lines or is removed around paths in some
    languages. JavaScript removes a byte order mark.
    """
    return "\ufeff" in line or any(
        unicodedata.category(each) in ("Cc", "Zl", "Zp") for each in line
    )


def paths_named(text: str) -> list[str]:
    """Return the paths in all lines of a command that begin as the headers of a patch do."""
    lines = text.split("\n") if "*** " in text else []
    return [found[1] for found in map(_FILE.fullmatch, map(str.strip, lines)) if found]


def is_patch(command: str) -> bool:
    """Return whether a command consists of a single quoted here-document for `apply_patch`. Codex
    applies such a patch without a shell.
    """
    found = _PATCH.match(command)
    return found is not None and found[2] not in found["patch"].splitlines()


def with_closed_stdin(command: str) -> str:
    """Return a command that reads nothing from its terminal."""
    return CLOSED + command
