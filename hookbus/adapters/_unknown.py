"""Calls to tools that do not exist: a model requests one, and its framework answers. Such a call is
reported, counted and denied like any other, with `kind="unknown"`.

If a framework has no separate place for this answer, the hooks run after it: nothing has run yet,
and the model would read the framework's answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hookbus import HookBlocked

from ._tools import Gate, ToolCall


def call_of(
    name: str, arguments: Any, call_id: str | None, sender: Any, agent: Any, context: Any = None
) -> ToolCall:
    """Return the call to a tool that does not exist; the model may not have written an object."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    given = dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    return ToolCall(name, given, call_id, "unknown", sender, agent, context)


def answer_missing(gate: Gate, call: ToolCall, text: str) -> str:
    """Run the hooks of such a call in an adapter whose denials raise. Return the text for the
    model: the framework's text, the text of a receiver, or the text of the denial."""
    try:
        return str(gate.run(call, lambda _: text))
    except HookBlocked as blocked:
        return str(blocked)


async def answer_missing_async(gate: Gate, call: ToolCall, text: str) -> str:
    """Like `answer_missing`, for an async call."""
    try:
        return str(await gate.run_async(call, lambda _: give(text)))
    except HookBlocked as blocked:
        return str(blocked)


async def give(value: Any) -> Any:
    return value
