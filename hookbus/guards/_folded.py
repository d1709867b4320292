"""Normalizes a text to its visible form, by replacing look-alike letters, digits, dashes and
spaces."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

Place = Callable[[int, int], tuple[int, int]]
"""Maps a span of the normalized text to the span of the original text."""


def folded(text: str) -> tuple[str, Place]:
    """Return the normalized string, and a function that maps its positions to the original string.

    Each character is normalized separately, so texts can be joined before or after normalization.
    """
    if text.isascii():
        return text, _same
    signs = {sign: _plain(sign) for sign in set(text) if sign > "\x7f"}
    plain = text.translate({ord(sign): made for sign, made in signs.items()})
    if all(len(made) == 1 for made in signs.values()):
        return plain, _same
    lengths = {sign: len(made) for sign, made in signs.items()}
    starts: list[int] = []

    def place(start: int, end: int) -> tuple[int, int]:
        if not starts:
            starts.extend(accumulate((lengths.get(sign, 1) for sign in text), initial=0))
        return bisect_right(starts, start) - 1, bisect_left(starts, end)

    return plain, place


def _same(start: int, end: int) -> tuple[int, int]:
    return start, end


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    category, number = unicodedata.category(sign), ord(sign)
    if 0xE0020 <= number <= 0xE007E:  # tag characters: invisible, but models may read them
        return chr(number - 0xE0000)
    if category == "Cf" or number in _UNSEEN or 0xFE00 <= number <= 0xFE0F or number > 0xE00FF:
        return ""
    if category == "Pd" or number in _DASHES:
        return "-"
    if category[0] == "Z":
        return " " if category == "Zs" else "\n"
    digit = unicodedata.decimal(sign, None)
    if digit is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKC", sign)
    return plain if plain.isascii() else sign


_UNSEEN = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x3164, 0xFFA0)
_DASHES = (0x2212, 0x2043, 0x02D7, 0x00AF, 0x2796, 0x30FC, 0xFF70)
"""The minus sign, the bullet and other characters that look like dashes."""
