"""Every way to ask a model of CrewAI under the contract of models, with what listeners are told."""

from __future__ import annotations

from typing import Any

import pytest

from hookbus import Block, HookBlocked
from hookbus.adapters import crewai

from .crewai_parts import QUIET, BaseLLM, agent_of, crew_of
from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)

from crewai import LLM  # isort: skip
from crewai.events.event_bus import crewai_event_bus  # isort: skip
from crewai.events.types import llm_events  # isort: skip
from crewai.llms.base_llm import llm_call_context  # isort: skip

pytestmark = QUIET


class Saying(BaseLLM):
    """Emits what CrewAI's own models emit: the beginning, each part, and the whole answer."""

    model: str = "saying"
    asked: Any = None

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        with llm_call_context():
            self.asked.append(messages)
            self._emit_call_started_event(messages)
            for part in PARTS if self._effective_stream() else ():
                self._emit_stream_chunk_event(part)
            kind = llm_events.LLMCallType.LLM_CALL
            self._emit_call_completed_event(ANSWER, kind, messages=messages)
            return ANSWER

    async def acall(self, messages: Any, *args: Any, **options: Any) -> Any:
        return self.call(messages)

    def supports_function_calling(self) -> bool:
        return True


class TestCrewAIModels(ModelContract):
    install = staticmethod(crewai.install)

    @pytest.fixture(autouse=True)
    def listeners(self):
        """Listen as CrewAI's tracing and a program's own listeners do."""
        self.left: list[str] = []
        self.ends: list[Any] = []
        with crewai_event_bus.scoped_handlers():

            @crewai_event_bus.on(llm_events.LLMStreamChunkEvent)
            def part(source, event):
                self.left.append(event.chunk)

            @crewai_event_bus.on(llm_events.LLMCallCompletedEvent)
            def end(source, event):
                self.left.append(str(event.response))
                self.ends.append(event)

            @crewai_event_bus.on(llm_events.LLMCallFailedEvent)
            def failed(source, event):
                self.ends.append(event)

            yield

    def changed(self, result):
        return result.replace(PIN, "***")

    def run(self, way):
        listened = self.left
        try:
            answer = super().run(way)
        finally:
            crewai_event_bus.flush()
            self.left = listened
        return [*listened, *answer]

    def ask_named(self):
        LLM(model="hosted_vllm/m-1", base_url="http://127.0.0.1:1", api_key="none").call("hello")

    def _model(self, **options: Any) -> Saying:
        return Saying(model="saying", asked=self.asked, **options)

    @way
    def called(self):
        return [self._model().call("hello")]

    @way
    async def acalled(self):
        return [await self._model().acall("hello")]

    @way
    def called_streaming(self):
        return [self._model(stream=True).call("hello")]

    @way
    async def acalled_streaming(self):
        return [await self._model(stream=True).acall("hello")]

    @way
    def in_frames(self):
        frames = self._model().stream_events("hello")
        return [str(getattr(each, "content", each)) for each in frames]

    @way
    def agent(self):
        return [str(agent_of(self._model(stream=True)).kickoff("hello"))]

    def test_listeners_get_every_part_of_an_answer_that_a_guard_agrees_with(self, bus):
        bus.signal("post_model_call").connect(lambda model, result: None, role="guard")
        self.run("called_streaming")
        assert self.left == [*PARTS, ANSWER]

    def test_listeners_get_the_parts_live_where_nothing_judges_the_answer(self, bus):
        seen = []
        bus.signal("post_model_call").connect(
            lambda model, result: seen.append([*self.left]), role="observe"
        )
        self.run("called_streaming")
        assert seen[0][:3] == [*PARTS]

    def test_listeners_are_told_that_a_blocked_answer_failed_and_once(self, bus):
        bus.signal("post_model_call").connect(lambda model: Block("a pin"), role="guard")
        with pytest.raises(HookBlocked):
            self.run("called_streaming")
        assert self.left == [] and [each.type for each in self.ends] == ["llm_call_failed"]
        assert "a pin" in self.ends[0].error

    def test_of_a_repeated_request_listeners_get_the_answer_that_counts(self, bus):
        def twice(model, call_next):
            call_next()
            return call_next()

        bus.signal("around_model_call").connect(twice)
        self.run("called_streaming")
        assert self.left == [*PARTS, ANSWER] and len(self.asked) == 2
        assert [each.type for each in self.ends] == ["llm_call_failed", "llm_call_completed"]

    def test_a_crew_ends_at_a_blocked_answer_shows_nothing_of_it_and_does_not_ask_again(self, bus):
        bus.signal("post_model_call").connect(lambda model: Block("a pin"), role="guard")
        with pytest.raises(HookBlocked, match="a pin"):
            crew_of(agent_of(self._model(stream=True))).kickoff()
        crewai_event_bus.flush()
        assert self.left == [] and len(self.asked) == 1
