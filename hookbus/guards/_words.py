"""Whether a word stands in what somebody said: as a whole, whatever the case of its letters."""

from __future__ import annotations

import re
import unicodedata
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from ._deadline import Deadline

MARKS: Final = 32
"""So many marks in a row are on no letter that anybody writes."""

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_BEFORE: Final = re.compile(r"[\w@.+-]")
_AFTER: Final = re.compile(r"[\w@+/-]|\.\w")
_EDGE: Final = re.compile(r"[^\w@.+-]")


def folded(text: str) -> str:
    # No more than case and composition: letters that only look alike are somebody else's address.
    is_composed = text.isascii() or _has_many_marks(text)
    composed = text if is_composed else unicodedata.normalize("NFC", text)
    return " ".join(composed.translate(_LOWER).split())


def _has_many_marks(text: str) -> bool:
    """Tell whether a text has more marks on one letter than anybody writes: it is left as it is,
    since putting them in order takes time in the square of their number.
    """
    marks = "".join(sign for sign in set(text) if unicodedata.combining(sign))
    return bool(marks) and re.search(f"[{re.escape(marks)}]{{{MARKS},}}", text) is not None


def stands_in(word: str, text: str, deadline: Deadline) -> bool:
    """Tell whether a word, address or name stands in a text as a whole, as no part of a longer one.

    Raises:
        TimeoutError: if it takes too long.
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
