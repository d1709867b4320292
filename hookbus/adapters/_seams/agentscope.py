"""The self-test of the AgentScope 1 adapter, which calls a tool of a `Toolkit`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample

SEAMS: Final = """
agentscope.agent._agent_base:AgentBase.clear_class_hooks(cls, hook_type)
agentscope.agent._agent_base:AgentBase.clear_instance_hooks(self, hook_type)
agentscope.agent._agent_base:AgentBase.register_class_hook(cls, hook_type, hook_name, hook)
agentscope.agent._agent_base:AgentBase.register_instance_hook(self, hook_type, hook_name, hook)
agentscope.agent._agent_base:AgentBase.remove_class_hook(cls, hook_type, hook_name)
agentscope.agent._agent_base:AgentBase.remove_instance_hook(self, hook_type, hook_name)
async agentscope.tool._toolkit:Toolkit.call_tool_function(self, tool_call)
"""


def sample(pay: Pay) -> Sample:
    """Make a toolkit that calls the tool as an agent does."""
    tools, blocks = import_module("agentscope.tool"), import_module("agentscope.message")

    def function(amount: int, to: str) -> Any:
        """Pay."""
        text = blocks.TextBlock(type="text", text=pay(amount, to))
        return tools.ToolResponse(content=[text])

    toolkit = tools.Toolkit()
    toolkit.register_tool_function(function, func_name=NAME)

    async def call_tool_function(amount: int, to: str) -> Any:
        arguments = {"amount": amount, "to": to}
        use = blocks.ToolUseBlock(type="tool_use", id="1", name=NAME, input=arguments)
        return [part async for part in await toolkit.call_tool_function(use)][-1]

    def refused(given: Any) -> str:
        return "".join(block["text"] for block in given.content)

    return Sample({"Toolkit.call_tool_function": call_tool_function}, refused)
