"""Function tools, tools of MCP servers and agents as tools: all are called in one place."""

from __future__ import annotations

import functools
from typing import Any

from .._tools import Gate, Refusal, ToolCall
from ._words import Told, module, read


def hook_functions(gate: Gate) -> None:
    home = module("tool")
    result = gate.patches.look_for(home, "_FunctionToolInvocationResult")
    origin_of = gate.patches.look_for(home, "get_function_tool_origin")

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        async def invoke(*, function_tool: Any, context: Any, arguments: str) -> Any:
            given, write = read(arguments)
            done: list[Any] = []

            async def body(changed: dict[str, Any]) -> Any:
                text = write(changed)
                if text is not arguments:  # nor may what was made of the old ones be used
                    context.tool_arguments, context._function_tool_arguments = text, None
                done.append(
                    await stock(function_tool=function_tool, context=context, arguments=text)
                )
                return done[-1].output

            call_id, agent = (getattr(context, each, None) for each in ("tool_call_id", "agent"))
            call = ToolCall(function_tool.name, given, call_id, kind(function_tool), function_tool,
                            agent)  # fmt: skip
            found = await gate.run_async(call, body)
            if done and found is done[-1].output:
                return done[-1]
            if isinstance(found, Refusal):
                return result(Told(found.text), True)
            # A text instead of what an output schema describes is told as it is.
            return result(found, isinstance(found, str))

        return invoke

    def kind(tool: Any) -> str:
        origin = origin_of(tool)
        known = {"mcp": "mcp", "agent_as_tool": "agent"}
        return known.get(origin.type.value, "function") if origin else "function"

    gate.patches.wrap_function(home, "_invoke_function_tool_with_metadata", hooked)
    _hook_stopping(gate)


def _hook_stopping(gate: Gate) -> None:
    """Let a run go on where its answer would be a refusal."""
    go_on = gate.patches.look_for(module("run_internal.run_steps"), "NOT_FINAL_OUTPUT")

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        async def check(*args: Any, **kwargs: Any) -> Any:
            found = await stock(*args, **kwargs)
            return go_on if isinstance(found.final_output, Told) else found

        return check

    home = module("run_internal.turn_resolution")
    gate.patches.wrap_function(home, "check_for_final_output_from_tools", hooked)
