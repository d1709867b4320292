"""Buffers the end of a stream's text while it may be part of a match."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from .. import HookError
from ._deadline import Deadline
from ._encoded import WORD, is_splitting
from ._found import Finder, Finding

HELD: Final = 16_384
"""The maximum number of buffered characters of a stream."""

CONTEXT: Final = 64
"""The number of sent characters that are kept as context for the next scan."""

AT_ONCE: Final = 256
SHARE: Final = 8
"""If more than `AT_ONCE` characters are buffered, they are scanned again only when one part in
`SHARE` of them is new. Each character is therefore scanned only a few times, however small the
items are.
"""

_ENDS_A_WORD: Final = re.compile(r'[^!-~]|"')


class Tokens(Protocol):
    """Replaces values with tokens."""

    def instead(self, text: str, found: Iterable[Finding]) -> str: ...


class Held:
    """The buffered end of a stream's text, which may become part of a match."""

    def __init__(self, finder: Finder, tokens: Tokens) -> None:
        self._finder, self._tokens = finder, tokens
        self._left = self._held = ""
        self._new: list[str] = []
        self._length, self._is_due, self._is_split = 0, False, False

    def out(self, item: str, deadline: Deadline) -> list[str]:
        """Return the text that may be sent now.

        Raises:
            HookError: if too much text is buffered.
            TimeoutError: if the time limit is exceeded.
        """
        self._new.append(item)
        self._length += len(item)
        # An unfinished word stays in the buffer.
        self._is_due = self._is_due or _ENDS_A_WORD.search(item) is not None
        in_all = len(self._held) + self._length
        is_enough = in_all <= AT_ONCE or self._length * SHARE >= in_all
        if in_all <= HELD and not (self._is_due and is_enough):
            return []
        return self._look(deadline)

    def rest(self, deadline: Deadline) -> list[str]:
        """Return the remaining text when the stream has ended."""
        text, start = self._taken()
        return self._said(text, start, self._found(text, start, deadline))

    def _look(self, deadline: Deadline) -> list[str]:
        text, start = self._taken()
        found = self._found(text, start, deadline)
        end = min(self._finder.open_from(text, start, deadline), self._word_from(text, start))
        for each in reversed(found):
            if each.end > end:
                end = min(end, each.start)
        if len(text) - end > HELD:
            raise HookError(f"more than {HELD} characters of a stream may belong to one secret")
        leaves = [each for each in found if each.end <= end]
        replaced = self._said(text[:end], start, leaves)
        self._is_split = self._is_in_split_word(text, start, end)
        self._left, self._held = text[max(0, end - CONTEXT) : end], text[end:]
        return replaced

    def _taken(self) -> tuple[str, int]:
        text = "".join([self._left, self._held, *self._new])
        self._new, self._length, self._is_due = [], 0, False
        return text, len(self._left)

    def _found(self, text: str, start: int, deadline: Deadline) -> list[Finding]:
        return self._finder.of(text, deadline, start, is_split=self._is_split)

    def _word_from(self, text: str, start: int) -> int:
        """Return the start of the last word, or of its last piece, because the rest of the stream
        may continue it."""
        words = deque(WORD.finditer(text, start), maxlen=1)
        last = words[0] if words else None
        if last is None or last.end() < len(text):
            return len(text)
        if is_splitting(last[0]) or (self._is_split and last.start() == start):
            return last.start() + last[0].rfind('"') + 1
        return last.start()

    def _is_in_split_word(self, text: str, start: int, end: int) -> bool:
        """Return whether a position is inside a word that quotes before this position split."""
        for word in WORD.finditer(text, start):
            if word.start() < end < word.end() or (end == word.end() == len(text)):
                was_split = self._is_split and word.start() == start
                return was_split or is_splitting(word[0])
        return self._is_split and end == start

    def _said(self, text: str, start: int, found: Iterable[Finding]) -> list[str]:
        moved = [each._replace(start=each.start - start, end=each.end - start) for each in found]
        replaced = self._tokens.instead(text[start:], moved)
        return [replaced] if replaced else []
