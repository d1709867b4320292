"""Reads the text of policies from a string, a file or a folder of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from ... import HookError
from ..._external.trust import read_trusted

Status = tuple[tuple[str, int, int, int], ...]
"""The names, sizes, times and inode numbers of files, which show whether a file has changed."""


@attrs.frozen
class Piece:
    """The text of one policy.

    Attributes:
        file: the file of the policy, or None for a policy in a string.
        line: the line of the file or of the string in which the policy begins.
        text: the text of the policy, including the semicolon.
    """

    file: str | None
    line: int
    text: str

    @property
    def place(self) -> str:
        """The location of the policy, for messages."""
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


def path_in(source: Any) -> Path | None:
    """Return the path of a file or folder, or None if the source is the text of policies.

    Raises:
        HookError: if the source is neither a string nor a path.
    """
    if isinstance(source, os.PathLike):
        return Path(source)
    if not isinstance(source, str):
        raise HookError(
            f"policy({source!r:.40}) needs a path or the text of policies, not a "
            f"{type(source).__name__}"
        )
    is_text = any(each in source for each in "(;\n") or source.lstrip()[:2] in ("", "//")
    return None if is_text else Path(source)


def fixed(path: Path | None, given: Any) -> Any:
    """Return the absolute path of a file, or the argument itself if it is not a file. The path is
    absolute because a program may change its working directory while it runs.
    """
    return given if path is None else path.absolute()


def files_of(path: Path) -> list[Path]:
    """Return the files of policies: the file itself, or the `*.cedar` files of a folder, by name.

    Raises:
        HookError: if the source contains no file.
    """
    if not os.path.isdir(path):
        return [path]
    try:
        found = sorted(path.glob("*.cedar"))
    except OSError as error:
        raise HookError(f"{path} cannot be read: {error.strerror}") from None
    if not found:
        raise HookError(
            f"{path} contains no *.cedar file: a folder without policies permits no call"
        )
    return found


@contextmanager
def malformed_as_hook_error(where: str) -> Iterator[None]:
    """Raise any exception as a HookError. The content of a file can have any structure, so code
    that interprets the content may raise any exception.

    Raises:
        HookError: the original exception if it is a HookError; otherwise, a HookError whose message
            begins with `where`.
    """
    try:
        yield
    except HookError:
        raise
    except Exception as error:
        raise HookError(f"{where} is malformed: {type(error).__name__}: {error}") from error


def status_of(paths: list[Path]) -> Status:
    """Return the status of files and folders. A missing file has the size -1 in this status."""
    found = []
    for path in paths:
        several = [path]
        with suppress(OSError):  # then the status changes, and `files_of` raises the reason
            several += sorted(path.glob("*.cedar")) if os.path.isdir(path) else []
        for each in several:
            try:
                status = os.stat(each)
            except OSError:
                found.append((str(each), -1, 0, 0))
            else:
                found.append((str(each), status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(found)


def read_pieces(source: Any) -> list[Piece]:
    """Return the text of each policy of a source, in order.

    Raises:
        HookError: if a file cannot be read, or the source contains no policy.
    """
    path = path_in(source)
    if path is None:
        found = [*split(source, None)]
    else:
        found = [piece for file in files_of(path) for piece in split(read_trusted(file), str(file))]
    if not found:
        named = f"{path} contains" if path is not None else "the text contains"
        raise HookError(
            f"{named} no policy, so it would permit no call: write a policy, such as "
            'permit(principal, action, resource == Tool::"read");'
        )
    return found


def split(text: str, file: str | None) -> Iterator[Piece]:
    """Yield the policies in a text. Each policy ends with a semicolon outside of strings and
    comments."""
    begin, line, at, is_empty, size = 0, 1, 0, True, len(text)
    begin_line = 1
    while at < size:
        each = text[at]
        if each == "/" and text.startswith("//", at):
            end = text.find("\n", at)
            at = size if end < 0 else end
            if is_empty:
                begin = at
            continue
        if is_empty and not each.isspace():
            is_empty, begin, begin_line = False, at, line
        if each == '"':
            end = _end_of_string(text, at)
            line += text.count("\n", at, end)
            at = end
            continue
        if each == "\n":
            line += 1
        elif each == ";":
            yield Piece(file, begin_line, text[begin : at + 1])
            is_empty = True
        at += 1
    if not is_empty:
        yield Piece(file, begin_line, text[begin:])


def _end_of_string(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))
