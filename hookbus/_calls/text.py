"""Texts with conditions and places to fill, and the names in them that must not meet those of users."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Mapping
from types import CodeType
from typing import Any, Final

MINE: Final = "\N{SECTION SIGN}"
"""Stands in front of every name that is a user's; it is taken away when all else is written."""

_CONDITION: Final = re.compile(r"\s*#\? (.+)$")
_PLACE: Final = re.compile(r"<(\w+)>$")
_WORD: Final = re.compile(rf"(?<![{MINE}.\w'])\b[A-Za-z_]\w*\b(?!')")


def fill(text: str, flags: Collection[str], parts: Mapping[str, str], **pieces: Any) -> str:
    """Write a text: lines whose condition does not hold go, with what is below them; places and pieces are filled in."""
    lines: list[str] = []
    gone: int | None = None
    for line in text.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip())
        if gone is not None and depth > gone:
            continue
        gone = None
        condition = _CONDITION.search(line)
        if condition is not None:
            line = line[: condition.start()]
            if any((word[1:] in flags) if word[0] == "!" else (word not in flags) for word in condition[1].split()):
                gone = depth
                continue
        place = _PLACE.fullmatch(line.strip())
        if place is not None:
            lines += [" " * depth + each for each in parts[place[1]].splitlines()]
        else:
            lines.append(" " * depth + line.strip().format_map(pieces) if "{" in line else line)
    return "\n".join(lines)


def sealed(text: str, names: Collection[str], tools: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a text whose own words differ from these names of users, and the objects that it uses."""
    words = {word for word in _WORD.findall(text) if not keyword.iskeyword(word)}
    renamed = {word: _free(word, {*names, *words}) for word in words.intersection(names)}
    text = _WORD.sub(lambda found: renamed.get(found[0], found[0]), text).replace(MINE, "")
    known = {**vars(builtins), **tools}
    return text, {renamed.get(word, word): known[word] for word in words if word in tools or (word in renamed and word in known)}


def _free(word: str, taken: set[str]) -> str:
    while word in taken:
        word += "_"
    return word


def fresh(code: CodeType) -> CodeType:
    """Return a code of its own, so that what the interpreter learns of one plan does not mislead another."""
    constants = tuple(fresh(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_consts=constants)
