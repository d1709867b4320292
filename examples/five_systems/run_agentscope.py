"""The ReAct agent of AgentScope, with a scripted model."""

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse
from receivers import REQUESTS, connect, print_results, remove

from hookbus import HookBlocked
from hookbus.adapters import agentscope


class Script(ChatModelBase):
    """A model that requests one call, and then ends."""

    def __init__(self, request):
        super().__init__("script", stream=False)
        self.pending = [ToolUseBlock(type="tool_use", id="1", name="remove", input=request)]

    async def __call__(self, *args, **kwargs):
        return ChatResponse(
            content=[self.pending.pop() if self.pending else TextBlock(type="text", text="done")]
        )


async def run(request):
    def tool(path: str) -> ToolResponse:
        return ToolResponse(content=[TextBlock(type="text", text=remove(path))])

    toolkit, memory = Toolkit(), InMemoryMemory()
    toolkit.register_tool_function(tool, func_name="remove", func_description="Remove a file.")
    agent = ReActAgent(
        "Friday", "", Script(request), DashScopeChatFormatter(), toolkit=toolkit, memory=memory
    )
    agent.set_console_output_enabled(False)
    try:
        await agent(Msg("user", "tidy up", "user"))
    except HookBlocked as blocked:
        return str(blocked)
    [output] = [
        block["output"]
        for message in await memory.get_memory()
        for block in message.get_content_blocks("tool_result")
    ]
    return output[0]["text"]


def work():
    return [asyncio.run(run(request)) for request in REQUESTS]


agentscope.install()
connect("acting", "tool_call", "input")
print_results(work)
