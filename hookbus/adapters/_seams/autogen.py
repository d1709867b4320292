"""The self-test of the AutoGen adapter, which calls a `FunctionTool`, directly and through a
workbench.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of, raised_text

SEAMS: Final = """
async autogen_agentchat.agents._assistant_agent:AssistantAgent._execute_tool_call(tool_call,
    workbench, handoff_tools, agent_name, cancellation_token, stream)
async autogen_agentchat.agents._base_chat_agent:BaseChatAgent.run(self, *, task,
    cancellation_token)
async autogen_agentchat.teams._group_chat._base_group_chat:BaseGroupChat.run(self, *, task,
    cancellation_token)
async autogen_core.models._model_client:ChatCompletionClient.create(self, messages, *, tools,
    tool_choice, cancellation_token)
async autogen_core.tools._base:BaseTool.run_json(self, args, cancellation_token, call_id)
async autogen_core.tools._workbench:Workbench.call_tool(self, name, arguments, cancellation_token,
    call_id)
autogen_agentchat.agents._assistant_agent:AssistantAgent._check_and_handle_handoff(model_result,
    executed_calls_and_results, inner_messages, handoffs, agent_name)
autogen_agentchat.agents._assistant_agent:
    AssistantAgent._summarize_tool_use(executed_calls_and_results, inner_messages, handoffs,
    tool_call_summary_format, tool_call_summary_formatter, agent_name)
autogen_agentchat.agents._base_chat_agent:BaseChatAgent.run_stream(self, *, task,
    cancellation_token)
autogen_agentchat.teams._group_chat._base_group_chat:BaseGroupChat.run_stream(self, *, task,
    cancellation_token)
autogen_core.models._model_client:ChatCompletionClient.create_stream(self, messages, *, tools,
    tool_choice, cancellation_token)
autogen_core.tools._base:BaseStreamTool.run_json_stream(self, args, cancellation_token, call_id)
autogen_core.tools._workbench:StreamWorkbench
autogen_core.tools._workbench:StreamWorkbench.call_tool_stream(self, name, arguments,
    cancellation_token, call_id)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that is called by a workbench and by a program."""
    tools, core = import_module("autogen_core.tools"), import_module("autogen_core")
    tool = tools.FunctionTool(functions_of(pay)[1], name=NAME, description="Pay.")
    bench = tools.StaticWorkbench([tool])

    async def call_tool(amount: int, to: str) -> Any:
        return await bench.call_tool(NAME, {"amount": amount, "to": to})

    async def run_json(amount: int, to: str) -> Any:
        return await tool.run_json({"amount": amount, "to": to}, core.CancellationToken())

    def refused(given: Any) -> str:
        if isinstance(given, tools.ToolResult):
            return str(given.to_text()) if given.is_error else ""
        return raised_text(given)

    return Sample({"Workbench.call_tool": call_tool, "BaseTool.run_json": run_json}, refused)
