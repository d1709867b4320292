"""Every way to ask Pydantic AI's models, whole and streamed, under the contract of models."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from hookbus import Block, HookBlocked
from hookbus.adapters import pydantic_ai

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)  # fmt: skip


class TestPydanticAIModels(ModelContract):
    install = staticmethod(pydantic_ai.install)

    def changed(self, result):
        return replace(result, parts=[TextPart(result.text.replace(PIN, "***"))])

    def _model(self):
        def whole(messages, info):
            self.asked.append(messages)
            return ModelResponse(parts=[TextPart(ANSWER)])

        async def parts(messages, info):
            self.asked.append(messages)
            for part in PARTS:
                yield part

        return FunctionModel(whole, stream_function=parts)

    def _agent(self):
        return Agent(self._model())

    async def ask_named(self):
        await Agent(TestModel(model_name="m-1")).run("hello")

    @way
    async def run_at_once(self):
        return [(await self._agent().run("hello")).output]

    @way
    async def run_streamed(self):
        async with self._agent().run_stream("hello") as run:
            self.left = [part async for part in run.stream_text(delta=True)]
            return [*self.left, await run.get_output()]

    @way
    async def run_with_a_handler_of_events(self):
        self.left = left = []

        async def handle(ctx, events):
            async for event in events:
                left.append(str(event))

        result = await self._agent().run("hello", event_stream_handler=handle)
        return [*left, result.output]

    @way
    async def iterated(self):
        async with self._agent().iter("hello") as run:
            async for _ in run:
                pass
        return [run.result.output]

    def test_what_receivers_of_items_changed_is_changed_wherever_it_is_read(self, bus):
        def hide(model, item):
            if item.event_kind == "part_delta":
                text = item.delta.content_delta.replace(PIN, "***")
                return replace(item, delta=replace(item.delta, content_delta=text))
            return None

        bus.signal("item_model_stream").connect(hide, on_error="block")
        for name in ("run_streamed", "run_with_a_handler_of_events"):
            left = "".join(self.run(name))
            assert PIN not in left and "***" in left

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_a_refused_request_is_put_to_no_fallback(self, bus, streamed):
        asked = []

        @bus.signal("pre_model_call").connect_via(role="guard")
        def no(model):
            asked.append(model)
            return Block("no")

        agent = Agent(FallbackModel(self._model(), self._model(), fallback_on=(Exception,)))
        with pytest.raises(HookBlocked):
            if streamed:
                async with agent.run_stream("hello"):
                    pass
            else:
                await agent.run("hello")
        assert len(asked) == 1 and self.asked == []
