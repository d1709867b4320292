"""An example of hooks after AgentScope's tutorial, with a scripted model: stock or on hookbus.

    .venv-systems/agentscope/bin/python -m tests.systems.example_agentscope stock
    .venv-systems/agentscope/bin/python -m tests.systems.example_agentscope hookbus

Both print the same. Nothing below `main` uses hookbus.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agentscope.agent import AgentBase, ReActAgent
from agentscope.formatter import DashScopeChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.tool import Toolkit, ToolResponse


class EchoAgent(AgentBase):
    """Prints what it is told and says it back."""

    async def reply(self, msg: Msg) -> Msg:
        await self.print(msg)
        return msg

    async def observe(self, msg: Msg) -> None:
        print("observed:", msg.content)


def mark(tag: str) -> Any:
    """Return a pre-hook that adds a tag to the message."""

    def hook(self: AgentBase, kwargs: dict[str, Any]) -> dict[str, Any]:
        kwargs["msg"].content += f" [{tag}]"
        return kwargs

    return hook


async def mark_answer(self: AgentBase, kwargs: dict[str, Any], output: Msg) -> Msg:
    output.content += " [instance post_reply]"
    return output


async def echo() -> None:
    """Instance hooks and class hooks of one agent, in their order; what one replaces the next one
    sees."""
    EchoAgent.register_class_hook("pre_reply", "class_pre", mark("class pre_reply"))
    agent = EchoAgent()
    agent.register_instance_hook("pre_reply", "instance_pre", mark("instance pre_reply"))
    agent.register_instance_hook("post_reply", "instance_post", mark_answer)
    agent.register_instance_hook("pre_print", "quiet", lambda self, kwargs: None)
    print("answer:", (await agent(Msg("user", "Hello, world!", "user"))).content)
    agent.remove_instance_hook("post_reply", "instance_post")
    EchoAgent.clear_class_hooks()
    print("answer:", (await agent(Msg("user", "Hello again!", "user"))).content)


class ScriptedModel(ChatModelBase):
    """Asks for one tool, and then says what it found."""

    def __init__(self) -> None:
        super().__init__("scripted", stream=False)
        self.turns = 0

    async def __call__(self, *args: Any, **kwargs: Any) -> ChatResponse:
        self.turns += 1
        if self.turns == 1:
            call = ToolUseBlock(type="tool_use", id="1", name="weather", input={"city": "Paris"})
            return ChatResponse(content=[TextBlock(type="text", text="Let me look."), call])
        return ChatResponse(content=[TextBlock(type="text", text="It is sunny.")])


async def weather(city: str) -> ToolResponse:
    """Tell the weather.

    Args:
        city (str): where.
    """
    return ToolResponse(content=[TextBlock(type="text", text=f"sunny in {city}")])


async def react() -> None:
    """The points of a ReAct agent, as its hooks see them."""
    toolkit = Toolkit()
    toolkit.register_tool_function(weather)
    agent = ReActAgent(
        name="Friday", sys_prompt="You are helpful.", model=ScriptedModel(),
        formatter=DashScopeChatFormatter(), toolkit=toolkit, memory=InMemoryMemory(),
    )  # fmt: skip
    for hook_type in ReActAgent.supported_hook_types:

        def tell(
            self: AgentBase, kwargs: dict[str, Any], *output: Any, hook_type: str = hook_type
        ) -> None:
            print(f"<{hook_type}: {', '.join(kwargs)}>")

        agent.register_instance_hook(hook_type, "tell", tell)

    def elsewhere(self: AgentBase, kwargs: dict[str, Any]) -> dict[str, Any]:
        kwargs["tool_call"]["input"] = {"city": "London"}
        return kwargs

    agent.register_instance_hook("pre_acting", "elsewhere", elsewhere)
    answer = await agent(Msg("user", "How is the weather in Paris?", "user"))
    print("answer:", answer.get_text_content())


def main() -> None:
    if sys.argv[1:] == ["hookbus"]:
        from hookbus.adapters import agentscope

        agentscope.install()
    elif sys.argv[1:] != ["stock"]:
        sys.exit(__doc__)
    asyncio.run(echo())
    asyncio.run(react())


if __name__ == "__main__":
    main()
