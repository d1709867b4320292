"""Reads and writes the lines of a spool: a header, followed by records. Each line has a
checksum."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from zlib import crc32

from .._external.platform import read_at
from ._chain import Row, columns

MAGIC: Final = b"hookbus-spool-1\n"

_CHUNK: Final = 1 << 18


class Line(NamedTuple):
    """A line of a spool.

    Attributes:
        row: the record in the line, or None if the line is damaged.
        end: the position after the line.
        is_torn: whether the line is the last line and was written only partially.
    """

    row: Row | None
    end: int
    is_torn: bool = False


def line_of(text: str) -> bytes:
    """Return a text as a line with its checksum."""
    data = text.encode()
    return b"%08x %b\n" % (crc32(data), data)


def data_of(line: bytes) -> Any:
    """Return the JSON data of a line without its line feed.

    Raises:
        ValueError: if the line is damaged.
    """
    if line[8:9] != b" " or line[:8] != b"%08x" % crc32(line[9:]):
        raise ValueError("the checksum is wrong")
    return json.loads(line[9:])


def header_of(file: int) -> tuple[dict[str, Any], int]:
    """Return the header of an open spool, and its length in bytes.

    Raises:
        ValueError: if the spool has no valid header.
    """
    start, end_of_line, _ = read_at(file, _CHUNK, 0).removeprefix(MAGIC).partition(b"\n")
    header = data_of(start)
    if not end_of_line or not isinstance(header, dict) or read_at(file, len(MAGIC), 0) != MAGIC:
        raise ValueError("there is no header")
    return header, len(MAGIC) + len(start) + 1


def read_lines(file: int, base: int, position: int, until: int) -> Iterator[Line]:
    """Yield the lines of an open spool between two positions."""
    rest, read = b"", position
    while read < until:
        chunk = read_at(file, min(_CHUNK, until - read), read - base)
        if not chunk:
            break
        read += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for each in whole:
            position += len(each) + 1
            yield Line(_row_of(each), position)
    if rest:
        yield Line(None, position + len(rest), is_torn=True)


def _row_of(line: bytes) -> Row | None:
    try:
        return Row(columns(data_of(line)), line[9:].decode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
