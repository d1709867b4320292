"""Semantic Kernel's functions under the contract: by agents, prompts, programs and servers."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.connectors.mcp import MCPStdioPlugin
from semantic_kernel.contents import (
    AuthorRole,
    ChatMessageContent,
    FunctionCallContent,
    StreamingChatMessageContent,
)
from semantic_kernel.functions import (
    KernelArguments,
    KernelFunctionFromMethod,
    KernelPlugin,
    kernel_function,
)

from hookbus.adapters import semantic_kernel

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


class Scripted(ChatCompletionClientBase):
    """Asks for what it was given, a list at a time, then says "done"; `told` is what it read."""

    SUPPORTS_FUNCTION_CALLING = True

    def _items(self, history: Any) -> Any:
        self.told[:] = [*history.messages]
        calls = self.script.pop(0) if self.script else "done"
        return [
            FunctionCallContent(id=f"{i}", index=i, name=name, arguments=json.dumps(args))
            for i, (name, args) in enumerate(calls)
        ] if calls != "done" else calls  # fmt: skip

    def get_prompt_execution_settings_class(self) -> Any:
        return PromptExecutionSettings

    def _update_function_choice_settings_callback(self) -> Any:
        return lambda *args: None

    def _verify_function_choice_settings(self, settings: Any) -> None:
        pass

    def _reset_function_choice_settings(self, settings: Any) -> None:
        pass

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> Any:
        items = self._items(chat_history)
        kind = {"content": items} if isinstance(items, str) else {"items": items}
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, **kind)]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> Any:
        items = self._items(chat_history)
        kind = {"content": items} if isinstance(items, str) else {"items": items}
        yield [StreamingChatMessageContent(role=AuthorRole.ASSISTANT, choice_index=0, **kind)]


class Script(Scripted):
    script: list[Any]
    told: list[Any] = []


def scripted(*script: Any) -> Script:
    return Script(ai_model_id="none", script=[*script], told=[])


def asked(calls: Any, name: str = "bank-pay") -> Any:
    return [(name, dict(args)) for args in calls]


def bank(body: Any) -> KernelPlugin:
    @kernel_function(name="pay", description="Pay.")
    def pay(amount: int, to: str) -> str:
        return body(amount, to)

    return KernelPlugin("bank", functions=[pay])


def agent_of(service: Any, *plugins: Any, name: str = "clerk") -> ChatCompletionAgent:
    return ChatCompletionAgent(
        service=service, name=name, instructions="Work.", plugins=[*plugins],
        function_choice_behavior=FunctionChoiceBehavior.Auto(),
    )  # fmt: skip


def told(service: Any, *more: Any) -> Told:
    """Return what a model read, and all there is of it in history and messages."""
    items = [item for message in service.told for item in message.items]
    answers = {item.id: str(item.result) for item in items if hasattr(item, "result")}
    everything = repr((service.told, [str(item) for item in items], more))
    return Told([answers[id] for id in sorted(answers, key=int)], everything)


class TestSemanticKernel(ToolContract):
    adapter, package, module = "semantic_kernel", "semantic-kernel", "semantic_kernel"
    besides = {"agent_of_another_agent": 1, "prompt": 1, "prompt_streamed": 1}
    kinds = {"mcp_server": "mcp"}
    program = ("kernel_invoked", "function_invoked", "function_streamed")
    install = staticmethod(semantic_kernel.install)

    @mode
    async def agent(self, body, calls):
        service = scripted(asked(calls))
        answer = await agent_of(service, bank(body)).get_response("go")
        return told(service, answer)._replace(went_on=str(answer.content) == "done")

    @mode
    async def agent_streamed(self, body, calls):
        service = scripted(asked(calls))
        parts = [each async for each in agent_of(service, bank(body)).invoke_stream("go")]
        history = [each async for each in parts[-1].thread.get_messages()]
        went_on = str(parts[-1].content) == "done"
        return told(service, parts, history)._replace(went_on=went_on)

    @mode
    async def agent_of_another_agent(self, body, calls):
        service = scripted(asked(calls))
        inner = agent_of(service, bank(body))
        outer = agent_of(scripted(asked([{"messages": "go"}], "clerk-clerk")), inner, name="boss")
        answer = await outer.get_response("go")
        return told(service, answer)._replace(went_on=str(answer.content) == "done")

    @mode
    async def prompt(self, body, calls):
        service, kernel = scripted(asked(calls)), Kernel()
        kernel.add_service(service)
        kernel.add_plugin(bank(body))
        settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())
        answer = await kernel.invoke_prompt("go", arguments=KernelArguments(settings=settings))
        return told(service, answer)._replace(went_on=str(answer) == "done")

    @mode
    async def prompt_streamed(self, body, calls):
        service, kernel = scripted(asked(calls)), Kernel()
        kernel.add_service(service)
        kernel.add_plugin(bank(body))
        settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())
        parts = [each async for each in kernel.invoke_prompt_stream(
            "go", arguments=KernelArguments(settings=settings)
        )]  # fmt: skip
        return told(service, parts)._replace(went_on=str(parts[-1][0]) == "done")

    @mode
    async def mcp_server(self, body, calls):
        def pay(amount: int, to: str) -> str:
            return body(amount, to)

        server = import_module("mcp.server.fastmcp").FastMCP("bank")
        server.add_tool(pay, description="Pay.")
        memory = import_module("mcp.shared.memory")
        service = scripted(asked(calls))
        async with memory.create_connected_server_and_client_session(server._mcp_server) as session:
            plugin = MCPStdioPlugin(name="bank", command="none", session=session)
            await plugin.load_tools()
            answer = await agent_of(service, plugin).get_response("go")
        return told(service, answer)._replace(went_on=str(answer.content) == "done")

    @mode
    async def kernel_invoked(self, body, calls):
        kernel = Kernel()
        kernel.add_plugin(bank(body))
        return await by_program(*(
            kernel.invoke(plugin_name="bank", function_name="pay", **args) for args in calls
        ))  # fmt: skip

    @mode
    async def function_invoked(self, body, calls):
        kernel, pay = Kernel(), bank(body)["pay"]
        return await by_program(*(pay(kernel, **args) for args in calls))

    @mode
    async def function_streamed(self, body, calls):
        @kernel_function(name="pay")
        async def pay(amount: int, to: str) -> Any:
            yield f"{body(amount, to)}"
            yield "."

        kernel = Kernel()
        function = KernelFunctionFromMethod(pay, plugin_name="bank", stream_method=pay)

        async def streamed(args: Any) -> str:
            return "".join([str(part) async for part in kernel.invoke_stream(function, **args)])

        return await by_program(*(streamed(args) for args in calls))


async def by_program(*calls: Any) -> Told:
    found = await asyncio.gather(*calls, return_exceptions=True)
    return Told([str(each) for each in found], repr(found))
