"""Calls of tools that do not exist: a model requests one, and its framework answers. Such a call is
emitted, counted and denied like any other, with `kind="unknown"`.

If a framework has no separate place for this answer, the hooks run after it: nothing has run yet,
and the model would read the framework's answer.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from ._tools import Gate, ToolCall


def call_of(
    name: str, arguments: Any, call_id: str | None, sender: Any, agent: Any, context: Any = None
) -> ToolCall:
    """Return the call of a tool that does not exist; the model may not have written an object."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    given = dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    return ToolCall(name, given, call_id, "unknown", sender, agent, context)


async def give(value: Any) -> Any:
    return value


# -- Pydantic AI -----------------------------------------------------------------------------------


def hook_pydantic_ai(gate: Gate, manager: Any) -> None:
    exceptions = import_module("pydantic_ai.exceptions")

    def hooked(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def validate_tool_call(own: Any, call: Any, **options: Any) -> Any:
            if own.tools is None or call.tool_name in own.tools:
                return await stock(own, call, **options)
            agent = getattr(own.ctx, "agent", None)
            asked = call_of(call.tool_name, call.args, call.tool_call_id, own, agent)
            done: list[Any] = []

            async def body(arguments: dict[str, Any]) -> Any:
                done.append(await stock(own, call, **options))
                return str(done[-1].validation_error)

            try:
                told = await gate.run_async(asked, body)
            except exceptions.ToolFailed as failed:
                told, refused = str(failed), failed
            else:
                if done and told == str(done[-1].validation_error):
                    return done[-1]
                refused = exceptions.ToolFailed(str(told))
            if not options.get("wrap_validation_errors", True):
                raise refused
            found = done[-1] if done else await stock(own, call, **options)
            error = own._wrap_error_as_failed(call.tool_name, call, refused)
            return replace(found, validation_error=error)

        return validate_tool_call

    if hasattr(manager, "_wrap_error_as_failed"):  # older releases have no place for a denial
        gate.patches.wrap(manager, "validate_tool_call", hooked)
