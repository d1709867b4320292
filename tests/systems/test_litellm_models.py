"""Every way to ask for a completion of LiteLLM under the contract of models."""

from __future__ import annotations

import inspect

import litellm
import pytest

from hookbus.adapters import litellm as adapter

from .model_contract import (  # noqa: F401
    ANSWER,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

HELLO = [{"role": "user", "content": "hello"}]


class Provider(litellm.CustomLLM):
    def __init__(self, asked):
        super().__init__()
        self.asked = asked

    def completion(self, *args, **kwargs):
        self.asked.append(kwargs["messages"])
        message = litellm.Message(content=ANSWER, role="assistant")
        return litellm.ModelResponse(choices=[litellm.Choices(message=message)], model="a")

    async def acompletion(self, *args, **kwargs):
        return self.completion(*args, **kwargs)

    def streaming(self, *args, **kwargs):
        self.asked.append(kwargs["messages"])
        for word in ANSWER.split(" "):
            is_last = word == "today"
            yield {
                "text": word if is_last else f"{word} ", "is_finished": is_last,
                "finish_reason": "stop" if is_last else "", "index": 0, "tool_use": None,
                "usage": None,
            }  # fmt: skip

    async def astreaming(self, *args, **kwargs):
        for part in self.streaming(*args, **kwargs):
            yield part


class TestLiteLLMModels(ModelContract):
    install = staticmethod(adapter.install)

    @pytest.fixture(autouse=True)
    def provider(self, bus, monkeypatch):
        handlers = [{"provider": "till", "custom_handler": Provider(self.asked)}]
        monkeypatch.setattr(litellm, "custom_provider_map", handlers)
        monkeypatch.setattr(litellm, "_custom_providers", ["till"])
        monkeypatch.setattr(litellm, "provider_list", [*litellm.provider_list, "till"])

    def changed(self, result):
        text = result.choices[0].message.content.replace(PIN, "***")
        message = litellm.Message(content=text, role="assistant")
        return litellm.ModelResponse(choices=[litellm.Choices(message=message)], model="a")

    async def _ask(self, ask, **options):
        self.left = left = []
        answer = ask(model="till/a", messages=HELLO, **options)
        answer = await answer if inspect.isawaitable(answer) else answer
        if "stream" not in options:
            return [answer.choices[0].message.content]
        parts = [each async for each in answer] if hasattr(answer, "__anext__") and (
            ask is litellm.acompletion) else [*answer]  # fmt: skip
        for part in parts:
            left.append(part.choices[0].delta.content or "")
        return left

    def ask_named(self):
        litellm.completion(model="m-1", messages=HELLO)

    @way
    async def completion(self):
        return await self._ask(litellm.completion)

    @way
    async def acompletion(self):
        return await self._ask(litellm.acompletion)

    @way
    async def completion_streamed(self):
        return await self._ask(litellm.completion, stream=True)

    @way
    async def acompletion_streamed(self):
        return await self._ask(litellm.acompletion, stream=True)
