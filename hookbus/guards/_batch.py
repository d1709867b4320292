"""Scan all strings of a value in one batch, which is much faster than scanning each separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._values import changed


def changed_together(
    value: Any, clean: Callable[[list[str]], list[str]], unseen: Callable[[Any], object] = id
) -> Any:
    """Return a value with its strings changed, as `changed` does, or the same object.

    Args:
        value: the value to scan.
        clean: maps a list of distinct strings to their replacements.
        unseen: called with each object that cannot be scanned.
    """
    seen: dict[str, None] = {}

    def note(text: str) -> str:
        seen.setdefault(text)
        return text

    changed(value, note, unseen=unseen)
    texts = list(seen)
    new = dict(zip(texts, clean(texts), strict=True))
    if all(text == made for text, made in new.items()):
        return value

    def new_of(text: str) -> str:
        # A property may return a different string on each read.
        return new[text] if text in new else clean([text])[0]

    return changed(value, new_of)
