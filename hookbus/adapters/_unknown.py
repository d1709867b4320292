"""Hooks calls to tools that do not exist, which the framework answers itself. Such a call is
reported, counted and denied like any other call, with `kind="unknown"`.

In some frameworks, the hooks run only after the framework has made its answer. This order is safe
because no tool has run and the model has not read the answer.
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
    """Return the call to a tool that does not exist. If the model did not write a JSON object, the
    only argument is `input`.
    """
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    given = dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    return ToolCall(name, given, call_id, "unknown", sender, agent, context)


def answer_missing(gate: Gate, call: ToolCall, text: str) -> str:
    """Run the hooks of a call to an unknown tool, in an adapter that raises denials. Return the
    text for the model: the framework's text, the text of a receiver, or the text of the denial.
    """
    try:
        return str(gate.run(call, lambda _: text))
    except HookBlocked as blocked:
        return str(blocked)


async def answer_missing_async(gate: Gate, call: ToolCall, text: str) -> str:
    """Like `answer_missing`, but for an async call."""
    try:
        return str(await gate.run_async(call, lambda _: give(text)))
    except HookBlocked as blocked:
        return str(blocked)


async def give(value: Any) -> Any:
    return value
