"""Reads shell commands: the words that may be names of files, and what a command does to folders.

A shell can hide a name in more ways than this module knows. It reads quotes, backslashes, `HOME`
and the programs that change the folder, but no other variables, globs and substitutions.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from ._names import home

_WORD: Final = re.compile(r"""(?s)(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|<>()`'"\\]|['"])+""")
"""Matches a word of a command, with quotes and backslashes as in a shell."""

_QUOTED: Final = re.compile(r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_QUOTE: Final = re.compile(r"""['"\\]""")

_HOOKBUS: Final = re.compile(r"(?i)\bhookbus\b")
_ANSWER: Final = re.compile(r"(?i)\b(?:gate|approvals)\b")
_SERVING: Final = re.compile(
    r"(?i)\bhookbus(?:[./](?:cli|__main__)(?:\.py)?)?['\")}]*"
    r"(?:(?:[ \t,]|\\\n)+['\"]?(?:-[^\s,]*|(?:\d+|&)?[<>]+[&|]?[ \t]*[^\s,<>]+))*"
    r"(?:[ \t,]|\\\n)+['\"]?(?:serve|run)\b"
)
"""Matches `hookbus serve` and `hookbus run`, also with options and redirections in between."""

_TERMINAL: Final = re.compile(
    r"<&\s*(?!-|\s|0(?!\d))|(?<!\d)0+>&\s*[^-\s]|/dev/(?:std(?:out|err)|fd|pts|tty)"
    r"|/proc/[^/\s]*/fd"
)
_TO_STREAM: Final = re.compile(
    r"(?:(?<![<0>])>{1,2}\|?|\btee(?:[ \t]+-a)?)[ \t]*/dev/std(?:out|err)(?![^\s;&|)'\"`])"
)
"""Matches writing to a stream, which does not give a command access to a terminal."""

_RUNS: Final = re.compile(r"-[a-z]*c|eval")
"""Words after which a word in quotes is a command."""

_ENTERS: Final = {"cd", "pushd", "-C", "--directory", "--chdir", "--cwd", "--prefix"}
_COPIES: Final = {"cp", "mv", "rsync", "install", "ln", "scp", "ditto"}
_READ: Final = {
    "cat", "diff", "du", "file", "find", "grep", "head", "ls", "rg", "stat", "tail", "tree", "wc",
}  # fmt: skip
_WHOLE: Final = ("/", "/.", "/*")
"""The endings of words that stand for everything in a folder."""


def is_answer(text: str) -> bool:
    """Return whether a command can end the gate or answer a request for approval. `serve` can,
    because it serves the page.
    """
    first = _HOOKBUS.search(text)
    if first is None:
        return False
    return _ANSWER.search(text, first.end()) is not None or _SERVING.search(text) is not None


def opens_terminal(text: str) -> bool:
    """Return whether a command opens its terminal again, or reads stdin from an output."""
    return _TERMINAL.search(_TO_STREAM.sub(" ", text)) is not None


def text_of(value: Any) -> str | None:
    """Return the command in an argument, or None. A list of strings is a command in words."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return shlex.join(value)
    return None


def words_in(text: str) -> set[str]:
    """Return the words in a command that may be paths, without quotes. Parts of words are included,
    such as the value of an option or a quoted command.
    """
    plain = _with_home(text)
    whole = {unquoted(each) for each in _WORD.findall(plain)}
    found = {part for each in whole for part in re.split(r"[=,:@{}]+", each)} | whole
    found |= {*re.split(r"[\s;&|<>=()`'\"]+", plain)}
    found |= {each[2:] for each in found if each.startswith("-")}
    for each in _QUOTED.findall(plain):
        if _QUOTE.search(each, 1, len(each) - 1):
            found |= words_in(_inside(each))
    return found - {""}


def _inside(quoted: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", quoted[1:-1])


def _parts_of(text: str) -> Iterator[list[str]]:
    """Yield the words of each program in a command, without quotes. A command in quotes, such as
    that of `bash -c`, is read, too.
    """
    for part in re.split(r"[;&|\n()`]+", _with_home(text)):
        written = _WORD.findall(part)
        if written:
            yield [unquoted(each) for each in written]
        for before, word in pairwise(written):
            if _RUNS.fullmatch(before) and any(each.isspace() for each in word):
                is_quoted = word[0] in "'\"" and word[-1] == word[0]
                yield from _parts_of(_inside(word) if is_quoted else unquoted(word))


def folders_entered(text: str) -> list[str]:
    """Return the words of a command that name the folder in which a program runs, such as the word
    after `cd`.
    """
    return [
        after.strip("{}") for words in _parts_of(text) for word, after in pairwise(words)
        if word.lstrip("{") in _ENTERS
    ]  # fmt: skip


def removed_by(text: str) -> set[str]:
    """Return the words of a command that name files which `rm` or `mv` would remove."""
    found = set[str]()
    for words in _parts_of(text):
        for name, rest in _programs_in(words, ("rm", "rmdir", "mv")):
            if name != "mv":
                found |= {each.removesuffix("/*") for each in rest}
            else:
                found |= {*(rest if _has_target(rest) else rest[:-1])}
    return found


def copied_by(text: str) -> set[tuple[str, str]]:
    """Return the targets of a command that copies or moves files, each with one of the sources."""
    return {
        (target, source)
        for words in _parts_of(text)
        for _, rest in _programs_in(words, _COPIES)
        for target in _targets_in(rest)
        for source in {*rest} - {target}
    }


def _programs_in(words: list[str], names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each of these programs that a list of words names first, with the words after it."""
    programs = [os.path.basename(each) for each in words]
    for name in names:
        if name in programs:
            yield name, words[programs.index(name) + 1 :]


def words_of_changes(text: str) -> set[str]:
    """Return the words of a command, apart from words of programs that only read files."""
    return {word for words in _parts_of(text) if os.path.basename(words[0]) not in _READ
            for word in words}  # fmt: skip


def is_whole_folder(word: str) -> bool:
    """Return whether a source of a copy stands for everything in a folder."""
    return word.endswith(_WHOLE) or word in (".", "*")


def _has_target(words: list[str]) -> bool:
    return any(each.startswith(("-t", "--t")) for each in words)


def _targets_in(words: list[str]) -> set[str]:
    """Return the folders or files into which `cp` and similar programs copy."""
    found = set(words[-1:])
    for word, after in pairwise([*words, ""]):
        if word.startswith("--t"):
            found.add(word.partition("=")[2] or after)
        elif word.startswith("-t"):
            found.add(word[2:] or after)
    return found - {""}


def unquoted(text: str) -> str:
    """Return a text without quotes and backslashes."""
    return re.sub(r"\\(.)|['\"]", r"\1", text)


def _with_home(text: str) -> str:
    return text.replace("${HOME}", home()).replace("$HOME", home())
