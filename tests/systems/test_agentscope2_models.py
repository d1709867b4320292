"""Every way to ask a model of AgentScope 2 under the contract of models."""

from __future__ import annotations

from typing import Any

from agentscope.credential import OpenAICredential
from agentscope.message import TextBlock, UserMsg
from agentscope.model import ChatResponse, OpenAIChatModel

from hookbus import Replace
from hookbus.adapters import agentscope2

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)
from .test_agentscope2_contract import Scripted, agent_of, text_of

HELLO = UserMsg("user", "hello")


class Saying(Scripted):
    """Answers whole or in parts; `ends` says whether its last part repeats all of the answer."""

    def __init__(self, asked: Any, *, ends: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.asked, self.ends = asked, ends

    async def _call_api(self, model_name: str, messages: Any, *args: Any, **more: Any) -> Any:
        self.asked.append(messages)
        if self.in_parts:
            return self._saying()
        return ChatResponse([TextBlock(text=ANSWER)], is_last=True)

    async def _saying(self) -> Any:
        for part in PARTS:
            yield ChatResponse([TextBlock(text=part)], is_last=False)
        if self.ends:
            yield ChatResponse([TextBlock(text=ANSWER)], is_last=True)


class TestAgentScope2Models(ModelContract):
    install = staticmethod(agentscope2.install)

    def changed(self, result):
        text = text_of(result.content).replace(PIN, "***")
        return ChatResponse([TextBlock(text=text)], is_last=True)

    def text(self, result):
        return text_of(result.content)

    def said(self, messages):
        return "".join(each.get_text_content() or "" for each in messages)

    async def ask_named(self):
        credential = OpenAICredential(api_key="none")
        await OpenAIChatModel(credential, "m-1", OpenAIChatModel.Parameters())([HELLO])

    async def _ask(self, **options):
        self.left = left = []
        answer = await Saying(self.asked, **options)([HELLO])
        if isinstance(answer, ChatResponse):
            return [text_of(answer.content)]
        async for part in answer:
            left.append(text_of(part.content))
        return left

    @way
    async def whole(self):
        return await self._ask()

    @way
    async def whole_of_a_model_that_gives_parts(self):
        return await self._ask(in_parts=True)

    @way
    async def whole_of_a_model_that_streams(self):
        return await self._ask(stream=True)

    @way
    async def streamed(self):
        return await self._ask(stream=True, in_parts=True)

    @way
    async def streamed_without_a_last_part(self):
        return await self._ask(stream=True, in_parts=True, ends=False)

    @way
    async def agent(self):
        agent = agent_of(Saying(self.asked, stream=True, in_parts=True))
        reply = await agent.reply(HELLO)
        return [reply.get_text_content()]

    @way
    async def agent_in_events(self):
        self.left = left = []
        agent = agent_of(Saying(self.asked, stream=True, in_parts=True))
        async for event in agent.reply_stream(HELLO):
            left.append(str(getattr(event, "delta", "")))
        return left

    async def test_a_string_that_replaces_a_streamed_answer_is_shown_once_and_kept(self, bus):
        bus.signal("pre_model_call").connect(lambda model: Replace("closed today"))
        agent = agent_of(Saying(self.asked, stream=True, in_parts=True))
        events = [event async for event in agent.reply_stream(HELLO)]
        assert [each.delta for each in events if hasattr(each, "delta")] == ["closed today"]
        assert agent.state.context[-1].get_text_content() == "closed today"
        assert self.asked == []
