"""Recognize globs of `when=` that were meant as comparisons."""

from __future__ import annotations

import re
from typing import Final

_COMPARISON: Final = re.compile(
    r"\s*(?:(==|!=|≠)\s*([^*?\[]+?)|([<>]=?|=>|=<|=|[≤≥])\s*([-+]?[^\w=*?\[]?\d[\w.,:-]*))\s*"
)
_JOINED: Final = re.compile(r"\s*(\band\b|\bor\b|&&|\|\|)\s*")
_OPERATORS: Final = {
    "=": "==", "≤": "<=", "≥": ">=", "≠": "!=", "=>": ">=", "=<": "<=", "&&": "and", "||": "or",
}  # fmt: skip


def compared(name: str, glob: str) -> str | None:
    """Return the predicate that a glob such as `">100"` probably means, or None."""
    parts = _JOINED.split(glob)
    for at in range(0, len(parts), 2):
        found = _COMPARISON.fullmatch(parts[at].lstrip().removeprefix(name))
        if found is None:
            return None
        operator, value = found[1] or found[3], found[2] or found[4]
        parts[at] = f"{name} {_OPERATORS.get(operator, operator)} {_literal(value)}"
    return f"lambda {name}: {' '.join(_OPERATORS.get(part, part) for part in parts)}"


def _literal(text: str) -> str:
    """Return a value as Python code. A number stays unchanged, and any other value becomes a string
    literal.
    """
    try:
        float(text)
    except ValueError:
        return repr(text)
    return text
