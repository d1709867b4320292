"""The self-test of the Pydantic AI adapter, which calls a tool of an agent."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async pydantic_ai._fallback:FallbackChain.falls_back(self, failure)
async pydantic_ai._output:ObjectOutputProcessor.call(self, output, *, run_context,
    wrap_validation_errors)
async pydantic_ai._output:execute_choice_action(action)
async pydantic_ai._output:execute_output_function(function_schema, *, run_context, args,
    wrap_validation_errors)
async pydantic_ai.agent.abstract:AbstractAgent.run(self, user_prompt, *, conversation_id, model,
    model_settings, usage, metadata, retries, toolsets, capabilities)
async pydantic_ai.mcp:MCPToolset.direct_call_tool(self, name, args, *, metadata)
async pydantic_ai.models:Model.request(self, messages, model_settings, model_request_parameters)
async pydantic_ai.tool_manager:ToolManager._raw_execute(self, validated, *, usage,
    wrap_validation_errors)
async pydantic_ai.tool_manager:ToolManager.validate_tool_call(self, call, *, approved, metadata,
    wrap_validation_errors)
async pydantic_ai.toolsets.function:FunctionToolset.call_tool(self, name, tool_args, ctx, tool)
pydantic_ai._output:ObjectOutputProcessor
pydantic_ai.models:Model.request_stream(self, messages, model_settings, model_request_parameters,
    run_context)
"""


def sample(pay: Pay) -> Sample:
    """Make an agent whose scripted model asks for the tool."""
    pydantic_ai, messages = import_module("pydantic_ai"), import_module("pydantic_ai.messages")
    model = import_module("pydantic_ai.models.function").FunctionModel
    plain, awaited = functions_of(pay)

    async def outcome_of(function: Any, amount: int, to: str) -> Any:
        def answer(history: Any, info: Any) -> Any:
            call = messages.ToolCallPart(NAME, {"amount": amount, "to": to}, "1")
            is_first = len(history) == 1
            return messages.ModelResponse([call if is_first else messages.TextPart("done")])

        agent = pydantic_ai.Agent(model(answer), tools=[pydantic_ai.Tool(function, name=NAME)])
        result = await agent.run("go")
        parts = [part for each in result.all_messages() for part in each.parts]
        return [part for part in parts if isinstance(part, messages.ToolReturnPart)]

    async def run(amount: int, to: str) -> Any:
        return await outcome_of(plain, amount, to)

    async def run_an_async_tool(amount: int, to: str) -> Any:
        return await outcome_of(awaited, amount, to)

    def refused(given: Any) -> str:
        return "".join(each.model_response_str() for each in given if each.outcome == "failed")

    ways = {
        "ToolManager._raw_execute": run, "ToolManager._raw_execute (async)": run_an_async_tool,
    }  # fmt: skip
    return Sample(ways, refused)
