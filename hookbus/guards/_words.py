"""Searches a text for a whole word, ignoring the case of ASCII letters."""

from __future__ import annotations

import re
import unicodedata
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from ._deadline import Deadline

MARKS: Final = 32
"""The maximum number of consecutive combining marks in a real text."""

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_BEFORE: Final = re.compile(r"[\w@.+-]")
_AFTER: Final = re.compile(r"[\w@+/-]|\.\w")
_EDGE: Final = re.compile(r"[^\w@.+-]")


def folded(text: str) -> str:
    # Only case and composition: a look-alike letter belongs to a different address.
    is_composed = text.isascii() or _has_many_marks(text)
    composed = text if is_composed else unicodedata.normalize("NFC", text)
    return " ".join(composed.translate(_LOWER).split())


def _has_many_marks(text: str) -> bool:
    """Return whether a text has too many consecutive combining marks. Such a text is not
    normalized to composed characters, because that takes quadratic time.
    """
    marks = "".join(sign for sign in set(text) if unicodedata.combining(sign))
    return bool(marks) and re.search(f"[{re.escape(marks)}]{{{MARKS},}}", text) is not None


def stands_in(word: str, text: str, deadline: Deadline) -> bool:
    """Return whether a text contains a word, address or name as a whole, and not only as part of a
    longer one.

    Raises:
        TimeoutError: if the time limit is exceeded.
    """
    deadline.left()
    start = text.find(word)
    while start >= 0:
        if start == 0 or not _BEFORE.match(text, start - 1):
            if not _AFTER.match(text, start + len(word)):
                return True
            start += 1
        elif (edge := _EDGE.search(text, start)) is not None:
            start = edge.end()
        else:
            return False
        deadline.left()
        start = text.find(word, start)
    return False
