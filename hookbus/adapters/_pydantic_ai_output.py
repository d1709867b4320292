"""Hooks the output that a Pydantic AI model returns as a call of an output function or as
structured data.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ._tools import Gate, ToolCall


class Output:
    """The result of an output function. The object belongs to the program and is not changed."""

    def __init__(self, value: Any) -> None:
        self.value = value


def hook_outputs(gate: Gate) -> None:
    home, patches = import_module("pydantic_ai._output"), gate.patches
    function: Any = home.execute_output_function
    action: Any = getattr(home, "execute_choice_action", None)

    async def execute_output_function(schema: Any, **options: Any) -> Any:
        return await function(_Gated(gate, schema), **options)

    async def execute_choice_action(chosen: Any) -> Any:
        call = ToolCall(getattr(chosen, "__name__", "action"), {}, kind="output", tool=chosen)
        return await _put_out(gate, call, lambda arguments: action(chosen))

    patches.replace_everywhere(home, "execute_output_function", execute_output_function)
    if action is not None:  # older releases have none
        patches.replace_everywhere(home, "execute_choice_action", execute_choice_action)
    objects = patches.look_for(home, "ObjectOutputProcessor")
    patches.wrap(objects, "call", functools.partial(_structured, gate))


class _Gated:
    """A view of an output function's schema, which calls the function through the gate."""

    def __init__(self, gate: Gate, schema: Any) -> None:
        self._gate, self._schema = gate, schema

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schema, name)

    async def call(self, arguments: dict[str, Any], ctx: Any) -> Any:
        schema = self._schema
        name = ctx.tool_name or schema.name
        call = ToolCall(name, arguments, ctx.tool_call_id, "output", schema.function, ctx.agent)
        return await _put_out(self._gate, call, lambda changed: schema.call(changed, ctx))


async def _put_out(gate: Gate, call: ToolCall, run: Callable[[dict[str, Any]], Any]) -> Any:
    async def body(arguments: dict[str, Any]) -> Any:
        return Output(await run(arguments))

    found = await gate.run_async(call, body)
    return found.value if isinstance(found, Output) else found


# -- structures ------------------------------------------------------------------------------------


def _structured(gate: Gate, owner: type, stock: Any) -> Any:
    """Hook a model's call to an output tool that has no function."""

    @functools.wraps(stock)
    async def call(processor: Any, output: Any, *, run_context: Any, **options: Any) -> Any:
        def run(given: Any) -> Any:
            return stock(processor, given, run_context=run_context, **options)

        ctx, name = run_context, run_context.tool_name
        if name is None or ctx.partial_output or processor._function_schema is not None:
            return await run(output)
        before = _fields(output)
        asked = ToolCall(name, before, ctx.tool_call_id, "output", processor, ctx.agent)

        def changed(arguments: dict[str, Any]) -> Any:
            return run(output if arguments == before else _with(output, arguments))

        return await _put_out(gate, asked, changed)

    return call


def _fields(output: Any) -> dict[str, Any]:
    """Return structured output as plain data."""
    if hasattr(output, "model_dump"):
        return dict(output.model_dump(mode="json"))
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return dataclasses.asdict(output)
    return dict(output) if isinstance(output, dict) else {"output": output}


def _with(output: Any, arguments: dict[str, Any]) -> Any:
    if hasattr(output, "model_validate"):
        return type(output).model_validate(arguments)
    if dataclasses.is_dataclass(output):
        made: Any = type(output)
        return made(**arguments)
    return arguments if isinstance(output, dict) else arguments["output"]
