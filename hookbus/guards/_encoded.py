"""Decodes the encoded parts of a text."""

from __future__ import annotations

import base64
import html
import quopri
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

from ._deadline import Deadline

WORD: Final = re.compile(r"(?:[!-<>-~]++|=(?:\r?\n)?+)++")
"""A run of characters without spaces, which may contain soft line breaks of quoted-printable."""

CHUNK: Final = 40_000
"""The number of characters to decode at once in pure-Python codecs: a multiple of 5 and 8."""

_SHORTEST: Final = 12
_PERCENT: Final = r"%[0-9A-Fa-f]{2}"
_ENTITY: Final = r"&[#A-Za-z]"
_ESCAPE: Final = r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U000[0-9A-Fa-f]{5}|[0-7]{1,3})"
_QUOTED: Final = r"=(?:[0-9A-Fa-f]{2}|\r?\n)"
_UTF7: Final = r"\+[A-Za-z0-9/+]"
_MARKED: Final = re.compile("|".join([_PERCENT, _ENTITY, _ESCAPE, _QUOTED, _UTF7]))
_SPLITS: Final = re.compile(r"[v-y{|}~]")
"""Characters that ascii85 does not use. Base85 does not use quotes, so a word that contains both is
in neither encoding.
"""

_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}+={0,6}")
_LINES: Final = re.compile(
    r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/_-]{20,}+[ \t]*\r?\n[ \t]*)++[A-Za-z0-9+/_-]*+={0,2}"
)
"""Matches encoded data that is split into lines, as in mail and PEM. The last line may be
shorter."""

_BASE85: Final = re.compile(r"[0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~]{12,}+")
_ASCII85: Final = re.compile(r"(?:<~)?[!-uz]{12,}+(?:~>)?")
_BASE32: Final = re.compile(r"[A-Za-z2-7]{12,}+={0,6}")
_HEX: Final = re.compile(r"[0-9A-Fa-f]{12,}+")

Decode = Callable[[str], str | bytes]


def views(
    text: str, start: int, deadline: Deadline, is_split: bool = False
) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the decoded form of each encoded part of a text, with its position.

    Args:
        text: the text.
        start: the position to start at.
        deadline: the time limit.
        is_split: whether the text starts inside a word that is split by quotes.

    Raises:
        TimeoutError: if the time limit is exceeded.
    """
    for word in WORD.finditer(text, start):
        if word.end() - word.start() < _SHORTEST and not _MARKED.search(word[0]):
            continue
        deadline.left()
        for a, b in pieces(word[0], is_split and word.start() == start):
            piece, at = word[0][a:b], word.start() + a
            for decoded in _of_piece(piece, deadline):
                yield (at, at + len(piece)), decoded
            for run in _RUN.finditer(piece):
                for decoded in _of_run(run[0], deadline):
                    yield (at + run.start(), at + run.end()), decoded
    for lines in _LINES.finditer(text, start):
        for decoded in _of_run("".join(lines[0].split()), deadline):
            yield lines.span(), decoded


def is_splitting(word: str) -> bool:
    """Return whether quotes split a word into pieces. Such a word is JSON or HTML instead of
    encoded data."""
    return '"' in word and _SPLITS.search(word) is not None


def pieces(word: str, is_split: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the positions of those parts of a word that may be encoded."""
    if not (is_split or is_splitting(word)):
        yield 0, len(word)
        return
    at = 0
    for piece in word.split('"'):
        if len(piece) >= _SHORTEST or _MARKED.search(piece):
            yield at, at + len(piece)
        at += len(piece) + 1


def _of_piece(piece: str, deadline: Deadline) -> Iterator[str]:
    is_marked = _MARKED.search(piece) is not None
    several = [decode for form, decode in _MARKS if is_marked and form.search(piece)]
    for decode in several:
        deadline.take(piece)
        if decoded := _plain(decode, piece):
            yield decoded
    if _BASE85.fullmatch(piece):
        yield from _chunked(base64.b85decode, piece, deadline)
    if _ASCII85.fullmatch(piece):
        inner = piece.removeprefix("<~").removesuffix("~>")
        yield from _chunked(base64.a85decode, inner.replace("z", "!!!!!"), deadline)


def _of_run(run: str, deadline: Deadline) -> Iterator[str]:
    deadline.left()
    if decoded := _plain(_base64, run):
        yield decoded
    if _BASE32.fullmatch(run):
        yield from _chunked(_base32, run, deadline)
    if _HEX.fullmatch(run) and (decoded := _plain(bytes.fromhex, run)):
        yield decoded


def _sign(escaped: re.Match[str]) -> str:
    number = escaped[1]
    return chr(int(number, 8) if number[0] in "01234567" else int(number[1:], 16))


_MARKS: Final[list[tuple[re.Pattern[str], Decode]]] = [
    (re.compile(_PERCENT), unquote),
    (re.compile(_ENTITY), html.unescape),
    (re.compile(_ESCAPE), lambda piece: re.sub(_ESCAPE, _sign, piece)),
    (re.compile(_QUOTED), quopri.decodestring),
    (re.compile(_UTF7), lambda piece: piece.encode("ascii").decode("utf-7")),
]
"""The decoders, each with a pattern for the pieces that it decodes."""


def _base64(run: str) -> bytes:
    text = run.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _base32(run: str) -> bytes:
    text = run.upper().rstrip("=")
    return base64.b32decode(text + "=" * (-len(text) % 8))


def _chunked(decode: Decode, run: str, deadline: Deadline) -> Iterator[str]:
    """Decode a run in chunks, and yield the decoded text if the whole run decodes to text."""
    parts, at, size = [], 0, 40
    while at < len(run):
        part = run[at : at + size]
        deadline.left()
        decoded = _plain(decode, part)
        if decoded is None:
            return
        parts.append(decoded)
        at, size = at + size, CHUNK
    if parts:
        yield "".join(parts)


def _plain(decode: Decode, run: str) -> str | None:
    """Return the decoded run if it is text and differs from the run, or None."""
    try:
        decoded = decode(run)
    except ValueError:
        return None
    text = decoded if isinstance(decoded, str) else decoded.decode("latin-1").replace("\0", "")
    is_text = _is_text(text[:64]) and _is_text(text)
    return text if is_text and text and text != run else None


def _is_text(text: str) -> bool:
    return "".join(text.split()).isprintable()
