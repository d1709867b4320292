"""The self-test of the CrewAI adapter: calls a function tool."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async crewai.agent.core:Agent.aexecute_task(self, task, context, tools)
async crewai.agent.core:Agent.akickoff(self, messages)
async crewai.agent.core:Agent.kickoff_async(self, messages)
async crewai.crew:Crew.akickoff(self)
async crewai.crew:Crew.kickoff_async(self)
async crewai.llms.base_llm:BaseLLM.acall(self, messages, tools, callbacks, available_functions)
async crewai.tools.base_tool:BaseTool.arun(self, *args, **kwargs)
async crewai.tools.structured_tool:CrewStructuredTool.ainvoke(self, input, config, **kwargs)
async crewai.utilities.tool_utils:aexecute_tool_and_check_finality(agent_action, tools,
    agent_role, task, agent, crew)
crewai.agent.core:_passthrough_exceptions
crewai.agents.agent_executor:AgentExecutor._execute_single_native_tool_call(self, tool_call)
crewai.events.event_bus:CrewAIEventsBus.emit(self, source, event)
crewai.llms.base_llm:BaseLLM.call(self, messages, tools, callbacks, available_functions)
crewai.tools.base_tool:BaseTool.run(self, *args, **kwargs)
crewai.tools.structured_tool:CrewStructuredTool.invoke(self, input, config, **kwargs)
crewai.tools.tool_usage:ToolUsage._select_tool(self, tool_name)
crewai.utilities.agent_utils:execute_single_native_tool_call(tool_call, *, available_functions,
    original_tools, structured_tools, tools_handler, agent, task, crew, event_source)
crewai.utilities.tool_utils:execute_tool_and_check_finality(agent_action, tools, agent_role, task,
    agent, crew)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that a program runs and an agent invokes."""
    plain, awaited = functions_of(pay)
    make = import_module("crewai.tools").tool(NAME)
    tool, structured = make(plain), make(plain).to_structured_tool()
    tool_async = make(awaited)

    def run(amount: int, to: str) -> Any:
        return tool.run(amount=amount, to=to)

    def invoke(amount: int, to: str) -> Any:
        return structured.invoke({"amount": amount, "to": to})

    async def arun(amount: int, to: str) -> Any:
        return await tool_async.arun(amount=amount, to=to)

    def refused(given: Any) -> str:
        return str(given) if type(given).__name__ == "ToolFailure" else ""

    ways = {
        "BaseTool.run": run, "CrewStructuredTool.invoke": invoke, "BaseTool.arun": arun,
    }  # fmt: skip
    return Sample(ways, refused)
