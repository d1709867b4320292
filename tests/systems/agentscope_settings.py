"""AgentScope on hookbus, strict or in both modes."""

import asyncio

import pytest
from agentscope.agent import AgentBase, ReActAgent, ReActAgentBase
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse

from hookbus.adapters import agentscope


@pytest.fixture
def strict(bus):
    uninstall = agentscope.install(bus, strict=True)
    yield
    uninstall()
    ReActAgentBase.clear_class_hooks()


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def either(bus, request):
    uninstall = agentscope.install(bus, strict=request.param)
    yield request.param
    uninstall()
    ReActAgentBase.clear_class_hooks()


class Agent(AgentBase):
    def __init__(self):
        super().__init__()
        self.bodies = []

    async def reply(self, msg, delay=0.0):
        await asyncio.sleep(delay)
        self.bodies.append(msg)
        return f"re: {msg}"


class ScriptedModel(ChatModelBase):
    """Calls a tool four times in its first answer, then says it is done."""

    def __init__(self, paths):
        super().__init__("scripted", stream=False)
        self.paths = paths

    async def __call__(self, messages, *args, **kwargs):
        if any(
            block.get("type") == "tool_result"
            for message in messages
            for block in message.get("content") or []
            if isinstance(block, dict)
        ) or any(message["role"] == "tool" for message in messages):
            return ChatResponse(content=[TextBlock(type="text", text="done")])
        return ChatResponse(
            content=[
                ToolUseBlock(type="tool_use", id=str(n), name="remove", input={"path": path})
                for n, path in enumerate(self.paths)
            ]
        )


def react_agent(removed, paths=("/p0", "/p1", "/p2", "/p3")):
    async def remove(path: str) -> ToolResponse:
        """Remove a file.

        Args:
            path (str): which.
        """
        await asyncio.sleep(0.01)
        removed.append(path)
        return ToolResponse(content=[TextBlock(type="text", text=f"removed {path}")])

    toolkit = Toolkit()
    toolkit.register_tool_function(remove)
    agent = ReActAgent(
        name="friday", sys_prompt="You remove files.", model=ScriptedModel(paths),
        formatter=DashScopeChatFormatter(), toolkit=toolkit, memory=InMemoryMemory(),
        parallel_tool_calls=True,
    )  # fmt: skip
    agent.set_console_output_enabled(False)
    return agent


async def later_none(*_):
    await asyncio.sleep(0)
