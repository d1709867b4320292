"""Every way to ask a model of smolagents under the contract of models."""

from __future__ import annotations

from typing import Any

from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    InferenceClientModel,
    MessageRole,
    Model,
)

from hookbus.adapters import smolagents

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)

HELLO = [ChatMessage(role=MessageRole.USER, content="hello")]


class Saying(Model):
    def __init__(self, asked: Any) -> None:
        super().__init__()
        self.asked = asked

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        self.asked.append(messages)
        return ChatMessage(role=MessageRole.ASSISTANT, content=ANSWER)

    def generate_stream(self, messages: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        for part in PARTS:
            yield ChatMessageStreamDelta(content=part)


class TestSmolagentsModels(ModelContract):
    install = staticmethod(smolagents.install)

    def changed(self, result):
        text = result.content.replace(PIN, "***")
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)

    def ask_named(self):
        InferenceClientModel("m-1", token="none").generate(HELLO)

    @way
    def whole(self):
        return [Saying(self.asked).generate(HELLO).content]

    @way
    def streamed(self):
        self.left = left = []
        for part in Saying(self.asked).generate_stream(HELLO):
            left.append(part.content)
        return left
