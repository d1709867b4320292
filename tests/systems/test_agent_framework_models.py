"""Every way to ask a chat client of Agent Framework under the contract of models."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Message,
)

from hookbus.adapters import agent_framework

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)


class Saying(BaseChatClient):
    def __init__(self, asked: Any) -> None:
        super().__init__()
        self.asked = asked

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        self.asked.append(messages)

        async def parts() -> Any:
            for part in PARTS:
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(part)])

        async def whole() -> Any:
            return answer(ANSWER)

        return self._build_response_stream(parts()) if stream else whole()


def answer(text: str) -> Any:
    return ChatResponse(messages=[Message("assistant", [Content.from_text(text)])])


class TestAgentFrameworkModels(ModelContract):
    install = staticmethod(agent_framework.install)
    hello = (Message("user", [Content.from_text("hello")]),)

    def changed(self, result):
        return answer(result.text.replace(PIN, "***"))

    def said(self, messages):
        return " ".join(each.text for each in messages)

    def text(self, result):
        return result.text

    async def ask_named(self):
        model = Saying(self.asked)
        model.model = "m-1"  # as the clients of OpenAI and Azure have it; none is installed here
        await model.get_response([*self.hello])

    @way
    async def whole(self):
        return [(await Saying(self.asked).get_response([*self.hello])).text]

    @way
    async def streamed(self):
        self.left = left = []
        async for part in Saying(self.asked).get_response([*self.hello], stream=True):
            left.append(part.text)
        return left

    @way
    async def agent_streamed(self):
        self.left = left = []
        async for part in Agent(Saying(self.asked)).run([*self.hello], stream=True):
            left.append(part.text)
        return left
