"""Read the templates of `story.txt`, apply their conditions and placeholders, and keep their names
distinct from names of the user's code.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from textwrap import indent
from types import CodeType, SimpleNamespace
from typing import Any, Final

from .._hooks.shell import HIDDEN, free_name

_ALL: Final = files(__name__.rpartition(".")[0]).joinpath("story.txt").read_text(encoding="utf-8")
_TEXT: Final = re.compile(r"^== (\w+) ==\n(.*?)(?=\n+(?:==|####)|\Z)", re.M | re.S)

story: Final = SimpleNamespace(**dict(_TEXT.findall(_ALL)))
"""The templates of every call, by name: `story.CALL`. The file itself explains how to read them."""

MINE: Final = "\N{SECTION SIGN}"
"""Prefix of every name of the user's code; it is removed when everything else is written."""

_CONDITION: Final = re.compile(r"\s*#\? (.+)$")
_PLACE: Final = re.compile(r"<(\w+)>$")
_BUILTINS: Final = vars(builtins)
_WORD: Final = re.compile(rf"(?<![{MINE}.\w'])\b[A-Za-z_]\w*\b(?!')")


def fill(
    text: str, flags: frozenset[str], parts: Mapping[str, str], pieces: Mapping[str, Any]
) -> str:
    """Fill a template. Remove each line whose condition is not met together with the lines nested
    below it, and insert values and pieces.
    """
    lines: list[str] = []
    for space, place, line in _chosen(text, flags):
        if place is not None:
            lines += [indent(parts[place], space)] if parts[place] else []
        else:
            lines.append(space + line.format_map(pieces) if "{" in line else space + line)
    return "\n".join(lines)


@lru_cache(maxsize=4096)
def _chosen(text: str, flags: frozenset[str]) -> list[tuple[str, str | None, str]]:
    """Return the remaining lines, each with its indentation, its place and its text."""
    lines: list[tuple[str, str | None, str]] = []
    gone: int | None = None
    for line in text.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip())
        if gone is not None and depth > gone:
            continue
        gone = None
        condition = _CONDITION.search(line)
        if condition is not None:
            line = line[: condition.start()]
            if not all(
                (word[1:] not in flags) if word[0] == "!" else (word in flags)
                for word in condition[1].split()
            ):
                gone = depth
                continue
        space, place = " " * depth, _PLACE.fullmatch(line.strip())
        if place is not None and place[1].isupper():
            others = _chosen(getattr(story, place[1]), flags)
            lines += [(space + more, inside, other) for more, inside, other in others]
        else:
            lines.append((space, place[1] if place is not None else None, line.strip()))
    return lines


def sealed(
    text: str, names: tuple[str, ...], tools: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return code whose own names differ from these names of the user's code, and the objects that
    the code uses.
    """
    source, words, renamed = _sealed(text, names)
    known = {**_BUILTINS, **tools}
    used = {renamed.get(word, word): known[word] for word in words if word in known}
    return source, HIDDEN | used


@lru_cache(maxsize=1024)
def _sealed(text: str, names: tuple[str, ...]) -> tuple[str, tuple[str, ...], dict[str, str]]:
    words = {*_WORD.findall(text)}.difference(keyword.kwlist)
    renamed = {word: free_name(word, {*names, *words}) for word in words.intersection(names)}
    if renamed:
        text = _WORD.sub(lambda found: renamed.get(found[0], found[0]), text)
    return text.replace(MINE, ""), tuple(words), renamed


def own_code(code: CodeType) -> CodeType:
    """Return a separate code object, so that the interpreter's optimizations for one plan do not
    affect another plan.
    """
    constants = tuple(
        own_code(each) if isinstance(each, CodeType) else each for each in code.co_consts
    )
    return code.replace(co_consts=constants)
