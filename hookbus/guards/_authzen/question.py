"""Builds the question about a call as JSON that all parsers read in the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from ... import HookContext
from .._call import labels_of, principal_in, tool_of

VERSION: Final = 1
"""The version of the format of arguments and patches, which `context.hookbus` announces."""

PATH: Final = "/access/v1/evaluation"

NEVER_SENT: Final = frozenset({"tool", "caller", "call_id", "kind"})
"""The labels of a framework: arguments that identify the call or are objects of the framework."""

DEEPEST: Final = 50
_LARGEST: Final = 2**53 - 1
"""Parsers that read numbers as floats round integers above this number."""

encoded: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Return plain data as JSON, without spaces."""


class Inexact(ValueError):
    """A value that JSON cannot represent exactly. The message describes it without its value."""


def arguments_of(ctx: HookContext) -> dict[str, Any]:
    """Return the arguments of a call by name, without the labels of a framework."""
    labels = labels_of(ctx) & NEVER_SENT
    return {name: each for name, each in ctx.kwargs.items() if name not in labels}


def call_of(ctx: HookContext, max_bytes: int) -> bytes:
    """Return the question about a call without its `context`.

    Raises:
        Inexact: if JSON cannot represent a value exactly, or the question is longer than
            `max_bytes`.
    """
    left = Exact(max_bytes)
    baggage = left.mapping(ctx.baggage, "the baggage", 0)
    is_tool = "name" in ctx.kwargs and "arguments" in ctx.kwargs
    name = tool_of(ctx)[0]
    if not isinstance(name, str):
        raise Inexact("the name of the tool is not a string")
    arguments = left.mapping(arguments_of(ctx), "the arguments", 0)
    question = {
        "subject": {
            "type": "agent",
            "id": principal_in(ctx.baggage),
            "properties": {"baggage": baggage},
        },
        "action": {"name": ctx.hook, "properties": {"arguments": arguments}},
        "resource": {"type": "tool" if is_tool else "hook", "id": name},
    }
    try:
        text = encoded(question).encode()
    except UnicodeEncodeError:
        raise Inexact("a string contains a lone surrogate") from None
    if len(text) > max_bytes:
        raise Inexact(f"it is longer than max_bytes={max_bytes}")
    return text


def with_context(call: bytes, context: Mapping[str, Any]) -> bytes:
    """Return the complete question: the description of the call, and the `context`."""
    return b"%s,%s" % (call[:-1], encoded({"context": context}).encode()[1:])


class Exact:
    """Copies values into plain JSON data, up to a maximum number of values.

    Args:
        values: the maximum number of values.
    """

    def __init__(self, values: int) -> None:
        self._values, self._most = values, values

    def mapping(self, values: Mapping[Any, Any], where: str, depth: int) -> dict[str, Any]:
        """Return a copy of a mapping.

        Raises:
            Inexact: if JSON cannot represent a value in the mapping exactly.
        """
        made = {}
        # A subclass of dict might present other items than it holds.
        items = dict.items(values) if isinstance(values, dict) else values.items()
        for key, value in items:
            if type(key) is not str:
                raise Inexact(f"a key in {where} is not a string")
            made[key] = self._copy(value, where, depth + 1)
        return made

    def _copy(self, value: Any, where: str, depth: int) -> Any:
        self._values -= 1
        if self._values < 0:
            raise Inexact(f"it is longer than max_bytes={self._most}")
        if depth > DEEPEST:
            raise Inexact(f"{where} are nested more than {DEEPEST} levels deep")
        kind = type(value)
        if value is None or kind is str or kind is bool:
            return value
        if kind is int:
            if abs(value) > _LARGEST:
                raise Inexact(f"an integer in {where} is beyond 2**53, where parsers round")
            return value
        if kind is float:
            if not isfinite(value):
                raise Inexact(f"a number in {where} is NaN or infinity")
            return value
        if isinstance(value, dict):
            return self.mapping(value, where, depth)
        if isinstance(value, list):
            return [self._copy(each, where, depth + 1) for each in list.__iter__(value)]
        if isinstance(value, tuple):
            return [self._copy(each, where, depth + 1) for each in tuple.__iter__(value)]
        raise Inexact(f"{where} contain an object of class {kind.__name__:.60}")
