"""Every way to ask a model of LlamaIndex under the contract of models."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import (
    ChatMessage,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
)

from hookbus.adapters import llama_index

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)

HELLO = [ChatMessage(role="user", content="hello")]


class Saying(CustomLLM):
    asked: Any = None

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.asked.append(prompt)
        return CompletionResponse(text=ANSWER)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.asked.append(prompt)

        def parts() -> Any:
            text = ""
            for part in PARTS:
                text += part
                yield CompletionResponse(text=text, delta=part)

        return parts()


class TestLlamaIndexModels(ModelContract):
    install = staticmethod(llama_index.install)

    def changed(self, result):
        if isinstance(result, CompletionResponse):
            return CompletionResponse(text=result.text.replace(PIN, "***"))
        text = result.message.content.replace(PIN, "***")
        message = ChatMessage(role="assistant", content=text)
        return result.model_copy(update={"message": message, "raw": None, "delta": None})

    def _model(self):
        return Saying(asked=self.asked)

    def _all(self, parts):
        self.left = left = []
        for part in parts:
            left.append(part.delta)
        return left

    @way
    def completed(self):
        return [self._model().complete("hello").text]

    @way
    def chatted(self):
        return [self._model().chat(HELLO).message.content]

    @way
    async def achatted(self):
        return [(await self._model().achat(HELLO)).message.content]

    @way
    def completion_streamed(self):
        return self._all(self._model().stream_complete("hello"))

    @way
    def chat_streamed(self):
        return self._all(self._model().stream_chat(HELLO))

    @way
    async def chat_streamed_async(self):
        self.left = left = []
        async for part in await self._model().astream_chat(HELLO):
            left.append(part.delta)
        return left

    @way
    async def completion_streamed_async(self):
        self.left = left = []
        async for part in await self._model().astream_complete("hello"):
            left.append(part.delta)
        return left
