"""Every way to ask LangChain's chat models, whole and streamed, under the contract of models."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from hookbus.adapters import langchain

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)  # fmt: skip


class Saying(GenericFakeChatModel):
    asked: Any = None

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **options)

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any):
        self.asked.append(messages)
        for part in PARTS:
            chunk = ChatGenerationChunk(message=AIMessageChunk(part))
            if run_manager:
                run_manager.on_llm_new_token(part, chunk=chunk)
            yield chunk


class TestLangChainModels(ModelContract):
    install = staticmethod(langchain.install)
    left: list[str]

    def changed(self, result):
        return AIMessage(result.content.replace(PIN, "***"))

    def _model(self):
        return Saying(messages=iter([AIMessage(ANSWER)]), asked=self.asked)

    def _all(self, items, text):
        left = self.left = getattr(self, "left", [])
        left.clear()
        for item in items:
            left.append(str(text(item)))
        return left

    def ask_named(self):
        ChatAnthropic(model="m-1", api_key="none").invoke("hello")

    @way
    def invoked(self):
        return [self._model().invoke("hello").content]

    @way
    async def ainvoked(self):
        return [(await self._model().ainvoke("hello")).content]

    @way
    def streamed(self):
        return self._all(self._model().stream("hello"), lambda part: part.content)

    @way
    async def astreamed(self):
        return [part.content async for part in self._model().astream("hello")]

    @way
    def events_of_version_3(self):
        return [str(self._model().stream_events("hello", version="v3").output.content)]

    @way
    async def events_of_version_2(self):
        events = self._model().astream_events("hello", version="v2")
        return [
            each["data"]["chunk"].content
            async for each in events
            if each["event"] == "on_chat_model_stream"
        ]

    @way
    def agent(self):
        agent = create_agent(self._model(), [])
        return [agent.invoke({"messages": ["hello"]})["messages"][-1].content]

    @way
    def agent_by_tokens(self):
        agent = create_agent(self._model(), [])
        parts = agent.stream({"messages": ["hello"]}, stream_mode="messages")
        return self._all(parts, lambda part: part[0].content)

    @way
    async def agent_by_tokens_async(self):
        agent = create_agent(self._model(), [])
        parts = agent.astream({"messages": ["hello"]}, stream_mode="messages")
        return [part[0].content async for part in parts]
