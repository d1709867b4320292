"""The self-test of the OpenAI Agents SDK adapter, which calls a function tool of an agent."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
agents.models.interface:Model.stream_response(self, system_instructions, input, model_settings,
    tools, output_schema, handoffs, tracing, *, previous_response_id, conversation_id, prompt)
agents.run_internal.run_steps:NOT_FINAL_OUTPUT
agents.run_internal.run_steps:QueueCompleteSentinel
agents.run_internal.tool_actions:ApplyPatchAction
agents.run_internal.tool_actions:ComputerAction
agents.run_internal.tool_actions:ComputerAction._iter_actions(tool_call)
agents.run_internal.tool_actions:CustomToolAction
agents.run_internal.tool_actions:LocalShellAction
agents.run_internal.tool_actions:ShellAction
agents.run_internal.tool_actions:coerce_apply_patch_operations(tool_call, *, context_wrapper)
agents.run_internal.turn_resolution:_register_tool_call_items(context_wrapper, items)
agents.run_internal.turn_resolution:process_model_response(*, agent, all_tools, response,
    output_schema, handoffs)
agents.tool:_FunctionToolInvocationResult
agents.tool:get_function_tool_origin(function_tool)
async agents.models.interface:Model.get_response(self, system_instructions, input, model_settings,
    tools, output_schema, handoffs, tracing, *, previous_response_id, conversation_id, prompt)
async agents.run:AgentRunner.run(self, starting_agent, input, **kwargs)
async agents.run_internal.model_retry:_evaluate_retry(*, error, attempt, max_retries,
    retry_policy, retry_backoff, stream, replay_unsafe_request, emitted_retry_unsafe_event,
    provider_advice, conversation_id)
async agents.run_internal.run_loop:start_streaming(starting_input, streamed_result,
    starting_agent, max_turns, hooks, context_wrapper, run_config, error_handlers,
    previous_response_id, auto_previous_response_id, conversation_id, session, *,
    trace_workflow_name)
async agents.run_internal.tool_actions:ApplyPatchAction.execute(cls, *, agent, call, hooks,
    context_wrapper, config)
async agents.run_internal.tool_actions:ComputerAction._execute_action_and_capture(cls, computer,
    tool_call)
async agents.run_internal.tool_actions:ComputerAction.execute(cls, *, agent, action, hooks,
    context_wrapper, config)
async agents.run_internal.tool_actions:CustomToolAction.execute(cls, *, agent, call, hooks,
    context_wrapper, config)
async agents.run_internal.tool_actions:LocalShellAction.execute(cls, *, agent, call, hooks,
    context_wrapper, config)
async agents.run_internal.tool_actions:ShellAction.execute(cls, *, agent, call, hooks,
    context_wrapper, config)
async agents.run_internal.tool_execution:execute_computer_actions(*, public_agent, actions, hooks,
    context_wrapper, config)
async agents.run_internal.turn_resolution:_resolve_tool_not_found_message(*, context_wrapper,
    run_config, tool_call, tool_name, call_id)
async agents.run_internal.turn_resolution:check_for_final_output_from_tools(agent, tool_results,
    context_wrapper)
async agents.run_internal.turn_resolution:execute_handoffs(*, public_agent, original_input,
    pre_step_items, new_step_items, new_response, run_handoffs, hooks, context_wrapper,
    run_config, tool_input_guardrail_results, tool_output_guardrail_results)
async agents.tool:_invoke_function_tool_with_metadata(*, function_tool, context, arguments)
"""


def sample(pay: Pay) -> Sample:
    """Make an agent whose scripted model asks for the tool."""
    agents, testing = import_module("agents"), import_module("agents.testing")
    plain, awaited = functions_of(pay)

    async def outcome_of(function: Any, amount: int, to: str) -> Any:
        call = testing.function_call(NAME, {"amount": amount, "to": to}, call_id="1")
        model = testing.ScriptedModel([[call], [testing.assistant_message("done")]])
        tool = agents.function_tool(function, name_override=NAME)
        agent = agents.Agent("self-test", model=model, tools=[tool])
        settings = agents.RunConfig(tracing_disabled=True)
        await agents.Runner.run(agent, "go", run_config=settings)
        return [each for each in model.calls[-1].input if "output" in each]

    async def run(amount: int, to: str) -> Any:
        return await outcome_of(plain, amount, to)

    async def run_an_async_tool(amount: int, to: str) -> Any:
        return await outcome_of(awaited, amount, to)

    def refused(given: Any) -> str:
        return json.dumps([each["output"] for each in given])

    ways = {
        "_invoke_function_tool_with_metadata": run,
        "_invoke_function_tool_with_metadata (async)": run_an_async_tool,
    }
    return Sample(ways, refused)
