"""Every way to ask a model of LlamaIndex under the contract of models."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.llms import (
    ChatMessage,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
)
from llama_index.core.llms.callbacks import llm_completion_callback

from hookbus import Block, HookBlocked
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

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.asked.append(prompt)
        return CompletionResponse(text=ANSWER)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.asked.append(prompt)

        def parts() -> Any:
            text = ""
            for part in PARTS:
                text += part
                yield CompletionResponse(text=text, delta=part)

        return parts()


class Named(Saying):
    """As `OpenAI` and others of LlamaIndex's packages are, none of which is installed here."""

    model: str


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

    def ask_named(self):
        Named(model="m-1").complete("hello")

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


class Events(BaseEventHandler):
    got: list[Any] = []

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.got.append(event)


class Spans(BaseSpanHandler[Any]):
    got: list[Any] = []

    def new_span(self, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_to_exit_span(self, *args: Any, result: Any = None, **kwargs: Any) -> None:
        self.got.append(result)

    def prepare_to_drop_span(self, *args: Any, err: Any = None, **kwargs: Any) -> None:
        self.got.append(err)


class TestListeners(TestLlamaIndexModels):
    """The same ways, as handlers of events, spans and callbacks are told of them."""

    @pytest.fixture(autouse=True)
    def listeners(self, bus):
        dispatcher, self.events, self.spans = get_dispatcher(), Events(), Spans()
        self.left = []
        self.callbacks = LlamaDebugHandler(print_trace_on_end=False)
        dispatcher.add_event_handler(self.events)
        dispatcher.add_span_handler(self.spans)
        yield
        dispatcher.event_handlers.remove(self.events)
        dispatcher.span_handlers.remove(self.spans)

    def _model(self):
        return Saying(asked=self.asked, callback_manager=CallbackManager([self.callbacks]))

    def told(self):
        """What listeners were told of answers: not of requests, which have no pin."""
        ends = [pair[-1].payload for pair in self.callbacks.get_llm_inputs_outputs()]
        return repr((self.events.got, self.spans.got, ends))

    def run(self, way):
        try:
            left = super().run(way)
        finally:
            self.left.append(self.told())
        return [*left, self.told()]

    def kinds(self):
        return [type(each).__name__ for each in self.events.got]

    def test_handlers_are_told_that_a_blocked_answer_failed(self, bus, way):
        bus.signal("post_model_call").connect(lambda model: Block("a pin"), role="guard")
        with pytest.raises(HookBlocked):
            self.run(way)
        assert "ExceptionEvent" in self.kinds() and "a pin" in self.told()
        assert not [each for each in self.kinds() if "EndEvent" in each or "InProgress" in each]
        if "streamed" not in way:  # the span of a stream ends once there is something to iterate
            assert [each for each in self.spans.got if isinstance(each, HookBlocked)]

    def test_handlers_get_each_part_where_a_guard_agrees_with_the_answer(self, bus, way):
        self.run(way)
        alone = self.kinds()
        self.events.got.clear()
        bus.signal("post_model_call").connect(lambda model: None, role="guard")
        self.run(way)
        assert sorted(self.kinds()) == sorted(alone)
        assert ("streamed" in way) == any("InProgress" in each for each in alone)
