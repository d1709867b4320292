"""The self-test of the Google ADK adapter: calls a `FunctionTool`."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

from ._frame import Pay, Sample, functions_of, raised_text

SEAMS: Final = """
async google.adk.agents.llm.task._finish_task_tool:FinishTaskTool.run_async(self, *, args,
    tool_context)
async google.adk.flows.llm_flows.tools._caller:_execute_single_prepared_call(invocation_context,
    prepared_call, agent, *, tool_runner)
async google.adk.tools.agent_tool:AgentTool.run_async(self, *, args, tool_context)
async google.adk.tools.agent_tool:_SingleTurnAgentTool.run_async(self, *, args, tool_context)
async google.adk.tools.agent_tool:_TaskAgentTool.run_async(self, *, args, tool_context)
async google.adk.tools.base_tool:BaseTool.run_async(self, *, args, tool_context)
async google.adk.tools.computer_use.computer_use_tool:ComputerUseTool.run_async(self, *, args,
    tool_context)
async google.adk.tools.function_tool:FunctionTool.run_async(self, *, args, tool_context)
async google.adk.workflow._llm_agent_wrapper:_dispatch_task_fc(parent_agent, fc, ctx)
google.adk.models.base_llm:BaseLlm.generate_content_async(self, llm_request, stream)
google.adk.runners:Runner.run_async(self, *, user_id, session_id, new_message)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that a program runs, and that an agent runs with the id of a call."""
    plain, awaited = functions_of(pay)
    cls = import_module("google.adk.tools").FunctionTool
    tool, tool_async = cls(plain), cls(awaited)
    context = SimpleNamespace(function_call_id="1", tool_confirmation=None)

    async def run_async(amount: int, to: str) -> Any:
        return await tool.run_async(args={"amount": amount, "to": to}, tool_context=None)

    async def run_for_a_model(amount: int, to: str) -> Any:
        return await tool_async.run_async(args={"amount": amount, "to": to}, tool_context=context)

    def refused(given: Any) -> str:
        is_told = isinstance(given, dict) and [*given] == ["error"]
        return str(given["error"]) if is_told else raised_text(given)

    ways = {
        "BaseTool.run_async": run_async, "BaseTool.run_async(tool_context=)": run_for_a_model,
    }  # fmt: skip
    return Sample(ways, refused)
