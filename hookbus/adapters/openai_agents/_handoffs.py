"""Hooks hand-offs. A blocked hand-off does not happen, and the model reads the reason."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

from .._tools import Gate, Refusal, ToolCall
from ._words import NotDone, Told, module, read


def hook_handoffs(gate: Gate) -> None:
    home = module("run_internal.turn_resolution")
    register = gate.patches.look_for(home, "_register_tool_call_items")

    def hooked(stock: Any) -> Any:
        @functools.wraps(stock)
        async def execute(*, run_handoffs: Any, public_agent: Any, **rest: Any) -> Any:
            first = run_handoffs[0]
            handoff = _handoff(gate, first, public_agent)
            given = [dataclasses.replace(first, handoff=handoff), *run_handoffs[1:]]
            try:
                return await stock(run_handoffs=given, public_agent=public_agent, **rest)
            except NotDone as refused:
                step = _stays(first.tool_call, public_agent, Told(refused), rest)
                register(rest["context_wrapper"], step.new_step_items[-1:])
                return step

        return execute

    gate.patches.wrap_function(home, "execute_handoffs", hooked)


def _handoff(gate: Gate, run: Any, agent: Any) -> Any:
    """Return a hooked copy of a hand-off."""
    stock, guarded = run.handoff, copy.copy(run.handoff)
    arguments, write = read(run.tool_call.arguments)

    async def invoke(context: Any, text: str) -> Any:
        new: list[Any] = []

        async def body(changed: dict[str, Any]) -> Any:
            new.append(await stock.on_invoke_handoff(context, write(changed)))
            return stock.get_transfer_message(new[-1])

        call_id = run.tool_call.call_id
        call = ToolCall(stock.tool_name, arguments, call_id, "handoff", stock, agent)
        found = await gate.run_async(call, body)
        if isinstance(found, Refusal) or not new:
            raise NotDone(found.text if isinstance(found, Refusal) else found)
        guarded.get_transfer_message = lambda agent: str(found)
        return new[-1]

    guarded.on_invoke_handoff = invoke
    return guarded


def _stays(tool_call: Any, agent: Any, text: str, given: dict[str, Any]) -> Any:
    """Return a step of the run that stays with the agent, with the reason for its model."""
    steps, items = module("run_internal.run_steps"), module("items")
    raw = items.ItemHelpers.tool_call_output_item(tool_call, text)
    item = items.ToolCallOutputItem(agent, raw, text)
    given["new_step_items"].append(item)
    return steps.SingleStepResult(
        original_input=given["original_input"],
        model_response=given["new_response"],
        pre_step_items=given["pre_step_items"],
        new_step_items=given["new_step_items"],
        next_step=steps.NextStepRunAgain(),
        tool_input_guardrail_results=[*(given.get("tool_input_guardrail_results") or ())],
        tool_output_guardrail_results=[*(given.get("tool_output_guardrail_results") or ())],
    )
