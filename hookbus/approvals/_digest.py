"""Computes the digest to which an approval is bound, with a key and RFC 8785 canonical JSON."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from .. import HookError

LABELS: Final = frozenset({"caller", "call_id", "tool"})
"""Arguments that a framework adds to a `tool_call`. They differ from call to call, or cannot be
serialized to JSON. For the tool, as for the sender, the digest contains only the class.
"""


def covered(hook: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the approval covers, which are all except the labels of a
    `tool_call`."""
    is_tool_call = hook == "tool_call" and {"name", "arguments"} <= arguments.keys()
    labels = LABELS if is_tool_call else frozenset[str]()
    return {name: value for name, value in arguments.items() if name not in labels}


def library() -> Any:
    """Return the module that serializes canonical JSON.

    Raises:
        HookError: if the module is not installed.
    """
    try:
        return import_module("rfc8785")
    except ImportError as error:
        raise HookError(
            "approvals need the package rfc8785; run: pip install 'hookbus[approvals]'"
        ) from error


def canonical(value: Any, name: str) -> bytes:
    """Serialize a value to canonical JSON.

    Raises:
        HookError: if a value cannot be serialized; the message names this value. Such values are a
            value whose type is not exactly a JSON type, an integer beyond 2**53, NaN, a key that is
            not a string, and a string with a lone surrogate.
    """
    _check(value, name)
    rfc8785 = library()
    try:
        return bytes(rfc8785.dumps(value))
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        is_cycle = isinstance(error, RecursionError)
        what = "it contains itself" if is_cycle else "JSON cannot represent it exactly"
        raise HookError(f"{name} cannot be serialized to canonical JSON: {what}") from None


def digest_of(key: bytes, facts: list[Any], bound: bytes, arguments: bytes) -> str:
    """Return the digest of a call.

    Args:
        key: the secret key of the approver.
        facts: the hook, the program, the identity of the sender and, for each guard that asks, its
            name, question and code.
        bound: the baggage to which the approval is bound, as canonical JSON.
        arguments: the arguments, as canonical JSON.
    """
    message = b"\n".join((json.dumps(facts).encode(), bound, arguments))
    return hmac.digest(key, message, "sha256").hex()


def _none(_: Any) -> str | None:
    return None


def _of_number(value: float) -> str | None:
    if type(value) is float:
        return None if math.isfinite(value) else f"it is {value}"
    return None if -EXACT < value < EXACT else "it is beyond 2**53, where JSON is not exact"


def _of_text(text: str) -> str | None:
    is_whole = text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
    return None if is_whole else "it contains an unpaired surrogate"


EXACT: Final = 1 << 53
"""JSON represents integers below this number exactly."""
_PROBLEMS: Final[dict[type, Any]] = {int: _of_number, float: _of_number, str: _of_text}


def _check(value: Any, name: str, depth: int = 0) -> None:
    """Raise HookError if a value's type is not exactly a JSON type, because a subclass can return
    different values to different readers.
    """
    kind = type(value)
    if depth > 100:
        raise HookError(
            f"{name} cannot be serialized to canonical JSON: it is nested more than 100 levels deep"
        )
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str:
                raise HookError(
                    f"{name} cannot be serialized to canonical JSON: "
                    f"its key {key!r:.40} is not a string"
                )
            _check(inner, f"{name}[{key!r:.40}]", depth + 1)
    elif kind is list or kind is tuple:
        for i, inner in enumerate(value):
            _check(inner, f"{name}[{i}]", depth + 1)
    elif (problem := _PROBLEMS.get(kind, _none)(value)) is not None:
        raise HookError(f"{name} cannot be serialized to canonical JSON: {problem}")
    elif kind not in (str, int, float, bool, type(None)):
        raise HookError(
            f"{name} is a {kind.__qualname__}, which cannot be serialized to canonical JSON: "
            "pass a string or a number"
        )
