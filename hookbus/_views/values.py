"""Values of strangers as short pieces of text, and the first place where two of them differ."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from .tables import printable

LONG: Final = 48
"""So many characters of a value are shown."""

_BEFORE: Final = 12
"""So many of them stand before the first difference."""

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
    """Return the tool, the model or the agent that the labels of a call name, or nothing."""
    found = ((labels or {}).get(each) for each in ("name", "model", "agent"))
    return next((each for each in found if each), "")


def title(hook: str, labels: Mapping[str, str] | None) -> str:
    """Return what a call is called: its hook, and the tool, model or agent, where that is known."""
    return f"{hook} {named(labels)}".rstrip()


def shortened(value: Any) -> str:
    """Return a value as one short piece of text, whatever its own `repr` does."""
    if value is _NOTHING:
        return "nothing"
    try:
        return printable(_short.repr(value))
    except Exception:  # of somebody's own kind of container
        return f"<{type(value).__name__}>"


def changed(name: str, before: Any, after: Any) -> str:
    """Say what of a value is changed: the first place where the two differ, and how it reads there.

    Only the name, where there is no difference to be shown. `["limit"]: 10 → 3` goes behind it.
    """
    try:
        found = _difference(before, after, iter(range(2000)), 4)
    except Exception:  # of somebody's own comparison, or there is too much to look through
        found = "", shortened(before), shortened(after)
    if found is None or found[1] == found[2]:
        return name
    return f"{name}{found[0]}: {found[1]} → {found[2]}"


_Found = tuple[str, str, str]


def _difference(one: Any, other: Any, steps: Iterator[int], levels: int) -> _Found | None:
    """Return where two values differ, and both as text from there; None where nothing differs.

    Nothing is compared but what Python itself made; of anything else, its text.
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
    """Yield what stands in either of two containers, by its key or its place."""
    if isinstance(one, dict):
        for key in chain(one, (key for key in other if key not in one)):
            yield key, one.get(key, _NOTHING), other.get(key, _NOTHING)
    else:
        for place in range(max(len(one), len(other))):
            left, right = (each[place] if place < len(each) else _NOTHING for each in (one, other))
            yield place, left, right


def _text(value: Any) -> str:
    try:
        return printable(re.sub(" at 0x[0-9a-fA-F]+", "", repr(value)[:10_000]))
    except Exception:
        return f"<{type(value).__name__}>"


def _windows(one: str, other: str) -> tuple[str, str]:
    """Return both texts around the first place where they differ."""
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
