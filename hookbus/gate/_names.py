"""Reads the names of files in the arguments of a call."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from ._agent_files import folded
from ._events import CURRENT

OWN_PROCESS: Final = re.compile(
    r"/proc/(?:self|thread-self|[\d$*?\[{][^/]*)(?:$|/(?:task|cwd|root|fd|mem|map_files)(?:/|$))"
    r"|/dev/fd(?:$|/(?!\d+$))"
)
"""Paths that lead to a different file in each program."""

_FILE_URI: Final = re.compile(r"(?i)file:(?://(?:localhost)?(?=/))?")
_STREAM: Final = re.compile(r"/dev/(?:std(?:in|out|err)|fd/\d+)")
"""The paths of a program's own standard streams. In this process, they would lead to the server's
streams.
"""

_AROUND: Final = " \t\r\n\v\f\xa0\ufeff\"'`@"
"""Characters around a path that some programs remove."""

_LONGEST_PATH: Final = 4096


def home() -> str:
    """Return the home folder of the user of the agent whose event is being answered."""
    event = CURRENT.get()
    own = "" if event is None else event.variables.get("HOME", "")
    return own if os.path.isabs(own) else os.path.expanduser("~")


def texts_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in arguments, including keys of mappings, with its location."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"a name in {name or 'the arguments'}", str(key)
            yield from texts_in(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from texts_in(inner, f"{name}[{place}]")


def words_of(name: str) -> list[str]:
    """Return the words in an argument's name, without a plural `s`. For example, `bashCommands` has
    the words `bash` and `command`."""
    last = name.rpartition(".")[2].partition("[")[0]
    parts = re.split(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])", last)
    return [each.casefold().removesuffix("s") for each in parts if each]


def is_contents(text: str) -> bool:
    """Return whether a string is too long for a path or has several lines, so that it must be
    contents."""
    return len(text) > _LONGEST_PATH or "\n" in text


def paths_of(text: str, base: str) -> set[str]:
    """Return the paths that programs may resolve a string to. Some programs remove `x/..` before
    they follow links, and others after.
    """
    found = set[str]()
    for each in readings_of(text):
        whole = os.path.join(base, each)
        plain = normal(whole)
        written = re.sub(r"/(?:\.?/)*", "/", whole)
        found |= {folded(plain)} | ({written} if OWN_PROCESS.match(written) else set())
        if _STREAM.fullmatch(plain) and ".." not in whole:
            continue
        for path in {plain, whole}:
            if len(path) <= _LONGEST_PATH and "\0" not in path:
                found.add(real(path))
    return found


def readings_of(text: str) -> set[str]:
    """Return the paths that programs may read in a string: with a leading `~` or `file:`, with
    percent-encoding or backslashes, or with other characters around the path.
    """
    found = _with_home_folder(text)
    if not text[:1].isalnum() or text[-1] in _AROUND:
        found |= _with_home_folder(text.strip(_AROUND))
    if "\0" in text:
        found |= readings_of(text.partition("\0")[0])
    found |= {unquote(each) for each in found if "%" in each}
    return found | {each.replace("\\", "/") for each in found if "\\" in each}


def _with_home_folder(text: str) -> set[str]:
    if not text:
        return set()
    address = _FILE_URI.match(text)
    if address is not None:
        rest = text[address.end() :]
        return {text, rest, unquote(rest), unquote(re.split("[?#]", rest)[0])} - {""}
    return {home() + text[1:] if text[:2] in ("~", "~/") else os.path.expanduser(text)}


def normal(path: str) -> str:
    """Return an absolute path without `.`, `..` and repeated slashes. Links are not followed."""
    return "/" + os.path.normpath(path).lstrip("/")


def real(path: str | Path) -> str:
    """Return a path with all links resolved, without differences in case."""
    return folded(os.path.realpath(path))
