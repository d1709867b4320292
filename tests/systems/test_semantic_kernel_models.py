"""Every way to ask a chat service of Semantic Kernel under the contract of models."""

from __future__ import annotations

from typing import Any

from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import (
    ChatHistory,
    ChatMessageContent,
    StreamingChatMessageContent,
)

from hookbus.adapters import semantic_kernel

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)


class Saying(ChatCompletionClientBase):
    asked: Any = None

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> Any:
        self.asked.append(chat_history)
        return [ChatMessageContent(role="assistant", content=ANSWER)]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> Any:
        self.asked.append(chat_history)
        for part in PARTS:
            yield [StreamingChatMessageContent(role="assistant", choice_index=0, content=part)]


class TestSemanticKernelModels(ModelContract):
    install = staticmethod(semantic_kernel.install)

    def changed(self, result):
        text = result[0].content.replace(PIN, "***")
        return [ChatMessageContent(role="assistant", content=text)]

    def _asks(self):
        history = ChatHistory()
        history.add_user_message("hello")
        model = Saying(ai_model_id="m", service_id="m")
        model.asked = self.asked  # pydantic copies a list that it is given
        return model, {"chat_history": history, "settings": PromptExecutionSettings()}

    async def ask_named(self):
        _, given = self._asks()
        await OpenAIChatCompletion("m-1", api_key="none").get_chat_message_contents(**given)

    @way
    async def whole(self):
        model, given = self._asks()
        return [str(each) for each in await model.get_chat_message_contents(**given)]

    @way
    async def streamed(self):
        self.left = left = []
        model, given = self._asks()
        async for part in model.get_streaming_chat_message_contents(**given):
            left.append(str(part[0]))
        return left
