"""Shows redacted values to a person, and maps that person's edits back to the real values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from .. import HookError

_PLACEHOLDER: Final = re.compile(r"<[^<>]+>")
_USUAL: Final[tuple[str, ...]] = ("<redacted>", "<could not be redacted>")
_WORD: Final = 4
"""A value that is shorter than this is replaced inside a string only as a whole word."""

Pairs = list[tuple[Any, Any]]
"""Values with their replacements."""


def hidden(real: Any, shown: Any) -> Pairs:
    """Return each string, number or key in JSON data that is shown differently, with its
    replacement."""
    if type(real) is type(shown) is dict:
        keys = [pair for pair in zip(real, shown) if pair[0] != pair[1]]
        return keys + [
            pair for one, other in zip(real.values(), shown.values()) for pair in hidden(one, other)
        ]
    if type(real) is type(shown) is list:
        return [pair for one, other in zip(real, shown) for pair in hidden(one, other)]
    if _is_same(real, shown):
        return []
    return [(leaf, shown) for leaf in _leaves(real) if leaf is not None and type(leaf) is not bool]


def without(value: Any, pairs: Pairs) -> Any:
    """Return JSON data in which hidden values are replaced, as keys, as whole values, and inside
    strings.
    """
    if type(value) is dict:
        return {without(key, pairs): without(each, pairs) for key, each in value.items()}
    if type(value) is list:
        return [without(each, pairs) for each in value]
    if type(value) is not str:
        same = (shown for real, shown in pairs if _is_same(real, value))
        return next(same, value)
    for real, shown in pairs:
        text = real if type(real) is str else json.dumps(real)
        for form in {text, repr(text)[1:-1], json.dumps(text)[1:-1]} - {""}:
            if form not in value:
                continue
            word = re.escape(form)
            if len(form) < _WORD:
                word = rf"(?<!\w){word}(?!\w)"
            value = re.sub(word, partial(_instead, str(shown)), value)
    return value


def _instead(shown: str, found: re.Match[str]) -> str:
    return shown


def restored(
    edited: Mapping[str, Any], shown: Mapping[str, Any], real: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments that a person edited, with real values instead of placeholders.

    Args:
        edited: all arguments after the edit. An unchanged placeholder stands for the value that it
            hides.
        shown: the arguments as this person saw them.
        real: the arguments with their real values.

    Raises:
        HookError: if a placeholder was moved, or the string around it was changed.
    """
    pairs = [(one, other) for one, other in hidden(real, shown) if type(other) is str]
    found = {word for one, other in pairs for word in _PLACEHOLDER.findall(other) if word != one}
    whole = {other for _, other in pairs if not _PLACEHOLDER.search(other)}
    words: set[str] = {*found, *_USUAL}
    return {
        name: _restored(value, shown[name], real[name], (words, whole), f"arguments[{name!r}]")
        for name, value in edited.items()
        if not _is_same(value, shown[name])
    }


_Words = tuple[set[str], set[str]]
"""Matches placeholders inside a string, and strings that are entirely a placeholder."""


def _restored(edited: Any, shown: Any, real: Any, words: _Words, where: str) -> Any:
    if _is_same(edited, shown):
        return real
    if type(edited) is type(shown) is type(real) is dict:
        keys = dict(zip(shown, real))
        made = {}
        for key, value in edited.items():
            at = f"{where}[{key!r:.40}]"
            if key in keys:
                made[keys[key]] = _restored(value, shown[key], real[keys[key]], words, at)
            else:
                _refuse([key, value], words, at)
                made[key] = value
        return made
    if type(edited) is type(shown) is type(real) is list and len(edited) == len(shown):
        places = enumerate(zip(edited, shown, real))
        return [_restored(*each, words, f"{where}[{i}]") for i, each in places]
    _refuse(edited, words, where)
    return edited


def _refuse(edited: Any, words: _Words, where: str) -> None:
    """Raise an error for a placeholder that would be passed literally to the method."""
    inside, whole = words
    for text in _leaves(edited, with_keys=True):
        token = next((word for word in inside if type(text) is str and word in text), None)
        if token is not None or (type(text) is str and text in whole):
            raise HookError(
                f"{where} contains the placeholder {token or text!r:.60} in a string that was "
                "changed or moved: leave that string as it was shown, or write the real value"
            )


def _leaves(value: Any, *, with_keys: bool = False) -> Iterator[Any]:
    if type(value) is dict and with_keys:
        yield from value
    if type(value) in (dict, list):
        for each in value.values() if type(value) is dict else value:
            yield from _leaves(each, with_keys=with_keys)
    else:
        yield value


def _is_same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)
