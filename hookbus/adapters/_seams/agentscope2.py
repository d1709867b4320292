"""The self-test of the AgentScope 2 adapter: calls a `FunctionTool`."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
agentscope.agent._agent:Agent._handle_error_tool_call(self, tool_call, message, state)
agentscope.agent._agent:Agent.reply_stream(self, inputs)
agentscope.tool._toolkit:Toolkit.call_tool(self, tool_call, state)
async agentscope.agent._agent:Agent._call_model(self, messages, tools, tool_choice)
async agentscope.agent._agent:Agent.reply(self, inputs)
async agentscope.model._base:ChatModelBase.__call__(self, messages, tools, tool_choice, **kwargs)
async agentscope.model._base:ChatModelBase.generate_structured_output(self, messages,
    structured_model, **kwargs)
async agentscope.tool._base:ToolBase.__call__(self, *args, **kwargs)
async agentscope.tool._base:ToolBase.call(self, *args, **kwargs)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that is called directly and through a toolkit."""
    tools, messages = import_module("agentscope.tool"), import_module("agentscope.message")
    plain, awaited = functions_of(pay)
    tool, toolkit = tools.FunctionTool(plain), tools.Toolkit(tools=[tools.FunctionTool(awaited)])

    async def call(amount: int, to: str) -> Any:
        return await tool(amount=amount, to=to)

    async def call_tool(amount: int, to: str) -> Any:
        arguments = json.dumps({"amount": amount, "to": to})
        block = messages.ToolCallBlock(id="1", name=NAME, input=arguments)
        state = import_module("agentscope.state").AgentState()
        return [chunk async for chunk in toolkit.call_tool(block, state)][-1]

    def refused(given: Any) -> str:
        is_error = str(given.state) == "error"
        return "".join(block.text for block in given.content) if is_error else ""

    return Sample({"ToolBase.call": call, "Toolkit.call_tool": call_tool}, refused)
