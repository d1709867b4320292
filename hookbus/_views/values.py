"""Format any value as a short string, and find the first difference between two values."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from .tables import printable

LONG: Final = 48
"""The maximum number of characters to show of a value."""

_BEFORE: Final = 12
"""The number of characters to show before the first difference."""

_NOTHING: Final = object()
_SCALARS: Final = frozenset({str, bytes, int, float, complex, bool, type(None)})


class _Short(reprlib.Repr):
    def repr_instance(self, x: Any, level: int) -> str:
        text = super().repr_instance(x, level)
        return f"<{type(x).__name__}>" if len(text) >= self.maxother or " at 0x" in text else text


_short = _Short()
_short.maxstring = _short.maxother = LONG
_short.maxlevel = 3


def named(labels: Mapping[str, str] | None) -> str:
    """Return the name of the tool, model or agent from the labels of a call, or an empty string."""
    found = ((labels or {}).get(each) for each in ("name", "model", "agent", "caller"))
    return next((each for each in found if each), "")


def title(hook: str, labels: Mapping[str, str] | None) -> str:
    """Return the title of a call: its hook and, if known, the tool, model or agent."""
    return f"{hook} {named(labels)}".rstrip()


def shortened(value: Any) -> str:
    """Return a value as a short string, even if its own `repr` fails or is long."""
    if value is _NOTHING:
        return "nothing"
    try:
        return printable(_short.repr(value))
    except Exception:  # raised by a custom container
        return f"<{type(value).__name__}>"


def place_of_change(name: str, index: int | None = None) -> str:
    """Return the location of a change, such as `argument 'to'`, `result` or `item 3`."""
    if name in ("result", "item"):
        return name if index is None else f"{name} {index}"
    return f"argument {name!r}"


def changed(name: str, before: Any, after: Any) -> str:
    """Describe a change to a value: the name, the first position where the two values differ, and
    both values there. An example is ` at ['limit']: 10 → 3`.

    Return only the name if no difference is visible.
    """
    try:
        found = _difference(before, after, iter(range(2000)), 4)
    except Exception:  # raised by a custom comparison, or too large
        found = "", shortened(before), shortened(after)
    if found is None or found[1] == found[2]:
        return name
    path = f" at {found[0]}" if found[0] else ""
    return f"{name}{path}: {found[1]} → {found[2]}"


_Found = tuple[str, str, str]


def _difference(one: Any, other: Any, steps: Iterator[int], levels: int) -> _Found | None:
    """Return the position of the first difference, and both values at this position as strings.
    Return None if the values are equal.

    Only built-in types are compared directly; other values are compared as strings.
    """
    next(steps)
    kind = type(one)
    if one is other or (kind is type(other) and kind in _SCALARS and one == other):
        return None
    if kind is type(other) and kind in (dict, list, tuple) and levels:
        for key, left, right in _pairs(one, other):
            found = _difference(left, right, steps, levels - 1)
            if found is not None:
                return f"[{shortened(key)}]{found[0]}", found[1], found[2]
        return None
    if kind is type(other) is str:
        left, right = _windows(one, other)
        return "", printable(repr(left)), printable(repr(right))
    texts = shortened(one), shortened(other)
    if kind is type(other) and texts[0] == texts[1]:
        texts = _windows(_text(one), _text(other))
    return ("", *texts) if texts[0] != texts[1] or kind is not type(other) else None


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the items of two containers in pairs, with their key or position."""
    if isinstance(one, dict):
        for key in chain(one, (key for key in other if key not in one)):
            yield key, one.get(key, _NOTHING), other.get(key, _NOTHING)
    else:
        for place in range(max(len(one), len(other))):
            left, right = (each[place] if place < len(each) else _NOTHING for each in (one, other))
            yield place, left, right


def verb_of_block(is_enforced: bool, is_asked: bool) -> str:
    """Return the verb for a `Blocked` event. A guard in shadow mode did not block the call.

    Args:
        is_enforced: whether the call was blocked.
        is_asked: whether a guard in shadow mode would have required approval.
    """
    if is_enforced:
        return "blocked"
    return "would have asked" if is_asked else "would have blocked"


def _text(value: Any) -> str:
    try:
        return printable(re.sub(" at 0x[0-9a-fA-F]+", "", repr(value)[:10_000]))
    except Exception:
        return f"<{type(value).__name__}>"


def _windows(one: str, other: str) -> tuple[str, str]:
    """Return an excerpt of both strings around the first position where they differ."""
    if max(len(one), len(other)) <= LONG:
        return one, other
    start, size, step = 0, min(len(one), len(other)), 4096
    while start < size and one[start : start + step] == other[start : start + step]:
        start += step
    differ = next((i for i in range(start, size) if one[i] != other[i]), size)
    start = max(differ - _BEFORE, 0)
    return _window(one, start), _window(other, start)


def _window(text: str, start: int) -> str:
    end = start + LONG - 4
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"
