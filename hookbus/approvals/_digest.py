"""What an approval is for, as a number that nobody can guess: RFC 8785 canonical JSON, keyed."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from .. import HookError

LABELS: Final = frozenset({"agent", "call_id", "tool"})
"""What a framework says around a `tool_call`: other with each call, or no value at all. The class
of the tool is part of a digest as the sender's.
"""


def covered(hook: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are approved: all, but a `tool_call`'s labels."""
    is_tool_call = hook == "tool_call" and {"name", "arguments"} <= arguments.keys()
    labels = LABELS if is_tool_call else frozenset[str]()
    return {name: value for name, value in arguments.items() if name not in labels}


def library() -> Any:
    """Return what makes canonical JSON.

    Raises:
        HookError: if it is not installed.
    """
    try:
        return import_module("rfc8785")
    except ImportError as error:
        raise HookError("approvals need rfc8785: pip install 'hookbus[approvals]'") from error


def canonical(value: Any, name: str) -> bytes:
    """Return a value as canonical JSON.

    Raises:
        HookError: naming what has none: a value of another type than those of JSON (a subclass,
            too), a whole number beyond 2**53, NaN, a key that is no text, a lone surrogate.
    """
    _check(value, name)
    rfc8785 = library()
    try:
        return bytes(rfc8785.dumps(value))
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        what = "it holds itself" if isinstance(error, RecursionError) else "it is no exact JSON"
        raise HookError(f"{name} has no canonical JSON: {what}") from None


def digest_of(key: bytes, facts: list[Any], bound: bytes, arguments: bytes) -> str:
    """Return the digest of a call.

    Args:
        key: what it is keyed with.
        facts: hook, program, sender's identity and, for each guard that asks, its name, question
            and code.
        bound: the baggage that the approval is for, as canonical JSON, as the arguments are.
    """
    message = b"\n".join((json.dumps(facts).encode(), bound, arguments))
    return hmac.digest(key, message, "sha256").hex()


def _none(_: Any) -> str | None:
    return None


def _of_number(value: float) -> str | None:
    if type(value) is float:
        return None if math.isfinite(value) else f"it is {value}"
    return None if -_EXACT < value < _EXACT else "it is beyond 2**53, where JSON is not exact"


def _of_text(text: str) -> str | None:
    is_whole = text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
    return None if is_whole else "it has half a surrogate pair"


_EXACT: Final = 1 << 53
_PROBLEMS: Final[dict[type, Any]] = {int: _of_number, float: _of_number, str: _of_text}


def _check(value: Any, name: str, depth: int = 0) -> None:
    """Refuse what is not of a type of JSON itself: a subclass may show each reader another value.
    """
    kind = type(value)
    if depth > 100:
        raise HookError(f"{name} has no canonical JSON: it is nested more than 100 deep")
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str:
                raise HookError(f"{name} has no canonical JSON: its key {key!r:.40} is no text")
            _check(inner, f"{name}[{key!r:.40}]", depth + 1)
    elif kind is list or kind is tuple:
        for i, inner in enumerate(value):
            _check(inner, f"{name}[{i}]", depth + 1)
    elif (problem := _PROBLEMS.get(kind, _none)(value)) is not None:
        raise HookError(f"{name} has no canonical JSON: {problem}")
    elif kind not in (str, int, float, bool, type(None)):
        raise HookError(
            f"{name} is a {kind.__qualname__}, which has no canonical JSON: pass text or a number"
        )
