"""The library `cedarpy`, which is imported when the first policy is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ... import HookError


def cedar() -> Any:
    """Return the module `cedarpy`.

    Raises:
        HookError: if it is not installed.
    """
    try:
        return import_module("cedarpy")
    except ModuleNotFoundError as error:
        raise HookError(
            f"policies need the package {error.name}; run: pip install 'hookbus[policy]'"
        ) from None


def in_one_line(error: Exception) -> str:
    """Return the message of a Cedar error as one line of limited length."""
    return " ".join(str(error).split())[:300]


def quoted(text: str) -> str:
    """Return a Cedar string literal."""
    parts = [
        f"\\{each}" if each in '"\\' else each if each.isprintable() else f"\\u{{{ord(each):x}}}"
        for each in text
    ]
    return f'"{"".join(parts)}"'
