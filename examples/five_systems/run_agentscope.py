"""AgentScope's own ReAct agent, with a model that is a script."""

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse
from receivers import WISHES, connect, remove, tell

from hookbus import HookBlocked
from hookbus.adapters import agentscope


class Script(ChatModelBase):
    """Asks for one wish, and then is done."""

    def __init__(self, wish):
        super().__init__("script", stream=False)
        self.waiting = [ToolUseBlock(type="tool_use", id="1", name="remove", input=wish)]

    async def __call__(self, *args, **kwargs):
        return ChatResponse(
            content=[self.waiting.pop() if self.waiting else TextBlock(type="text", text="done")]
        )


async def ask(wish):
    def tool(path: str) -> ToolResponse:
        return ToolResponse(content=[TextBlock(type="text", text=remove(path))])

    toolkit, memory = Toolkit(), InMemoryMemory()
    toolkit.register_tool_function(tool, func_name="remove", func_description="Remove a file.")
    agent = ReActAgent(
        "Friday", "", Script(wish), DashScopeChatFormatter(), toolkit=toolkit, memory=memory
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
    return [asyncio.run(ask(wish)) for wish in WISHES]


agentscope.install()
connect("acting", "tool_call", "input")
tell(work)
