"""Every way to ask a chat model of AutoGen under the contract of models."""

from __future__ import annotations

from typing import Any

from autogen_core.models import CreateResult, RequestUsage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from hookbus.adapters import autogen

from .model_contract import (  # noqa: F401
    ANSWER,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)

HELLO = [UserMessage(content="hello", source="user")]


class Saying(ReplayChatCompletionClient):
    asked: Any = None

    async def create(self, messages: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        return await super().create(messages, **kwargs)

    async def create_stream(self, messages: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        async for part in super().create_stream(messages, **kwargs):
            yield part


class TestAutoGenModels(ModelContract):
    install = staticmethod(autogen.install)

    def changed(self, result):
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        text = result.content.replace(PIN, "***")
        return CreateResult(content=text, finish_reason="stop", usage=usage, cached=False)

    def _model(self):
        model = Saying([ANSWER])
        model.asked = self.asked
        return model

    async def ask_named(self):
        model = self._model()
        model._create_args = {"model": "m-1"}  # as the client of OpenAI has it; not installed here
        await model.create(HELLO)

    @way
    async def whole(self):
        return [(await self._model().create(HELLO)).content]

    @way
    async def streamed(self):
        self.left = left = []
        async for part in self._model().create_stream(HELLO):
            left.append(part if isinstance(part, str) else part.content)
        return left
