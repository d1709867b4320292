"""Hooks function tools, tools of MCP servers and agents as tools, which a single SDK function
calls."""

from __future__ import annotations

import functools
from typing import Any

from .._tools import Gate, Refusal, ToolCall
from .._unknown import call_of
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
                if text is not arguments:  # the parsed old arguments must not be used either
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
            # A string that does not fit the output schema is passed on unchanged.
            return result(found, isinstance(found, str))

        return invoke

    def kind(tool: Any) -> str:
        origin = origin_of(tool)
        known = {"mcp": "mcp", "agent_as_tool": "agent"}
        return known.get(origin.type.value, "function") if origin else "function"

    gate.patches.wrap_function(home, "_invoke_function_tool_with_metadata", hooked)
    _hook_stopping(gate)
    _hook_unknown(gate)


def _hook_unknown(gate: Gate) -> None:
    """Run the hooks for calls to tools that an agent does not have, even if such a call ends the
    run."""
    home, error = module("run_internal.turn_resolution"), module("exceptions").ModelBehaviorError

    def resolve_message(stock: Any) -> Any:
        @functools.wraps(stock)
        async def _resolve(**given: Any) -> Any:
            async def body(arguments: dict[str, Any]) -> Any:
                return await stock(**given)

            name, call_id = given["tool_name"], given["call_id"]
            call = call_of(name, given["tool_call"].arguments, call_id, home, None)
            found = await gate.run_async(call, body)
            return found.text if isinstance(found, Refusal) else str(found)

        return _resolve

    def raised(stock: Any) -> Any:
        @functools.wraps(stock)
        def process_model_response(*, agent: Any, response: Any, **given: Any) -> Any:
            try:
                return stock(agent=agent, response=response, **given)
            except error as failed:
                asked, ends = _missing(response, str(failed)), failed
            if asked is None:
                raise ends

            def body(arguments: dict[str, Any]) -> Any:
                raise ends

            text = getattr(asked, "arguments", None) or getattr(asked, "input", "")
            gate.run(call_of(asked.name, text, asked.call_id, agent, agent), body)
            raise ends  # also if it was denied: the model would not read another answer

        return process_model_response

    if hasattr(home, "_resolve_tool_not_found_message"):  # older releases always end the run
        gate.patches.wrap_function(home, "_resolve_tool_not_found_message", resolve_message)
    gate.patches.wrap_function(home, "process_model_response", raised)


def _missing(response: Any, text: str) -> Any:
    """Return the requested tool that the agent does not have, according to the SDK's error
    message."""
    asked = (each for each in response.output if getattr(each, "call_id", None) is not None)
    return next((each for each in asked if f"{getattr(each, 'name', None)} not found in" in text),
                None)  # fmt: skip


def _hook_stopping(gate: Gate) -> None:
    """Let a run continue if a denial would be its final output."""
    go_on = gate.patches.look_for(module("run_internal.run_steps"), "NOT_FINAL_OUTPUT")

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        async def check(*args: Any, **kwargs: Any) -> Any:
            found = await stock(*args, **kwargs)
            return go_on if isinstance(found.final_output, Told) else found

        return check

    home = module("run_internal.turn_resolution")
    gate.patches.wrap_function(home, "check_for_final_output_from_tools", hooked)
