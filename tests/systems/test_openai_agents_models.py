"""Every way to ask a model of the OpenAI Agents SDK under the contract of models."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, Runner
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.models.openai_responses import OpenAIResponsesModel
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from hookbus import HookBlocked
from hookbus.adapters import openai_agents

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)


def message(text: str) -> Any:
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=content
    )


class Saying(Model):
    def __init__(self, asked: Any) -> None:
        self.asked = asked

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append((args, kwargs))
        return ModelResponse(output=[message(ANSWER)], usage=Usage(), response_id="r")

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append((args, kwargs))
        for number, part in enumerate(PARTS):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta", content_index=0, delta=part, item_id="m",
                output_index=0, sequence_number=number, logprobs=[],
            )  # fmt: skip
        response = Response(
            id="r", created_at=0, model="m", object="response", output=[message(ANSWER)],
            parallel_tool_calls=False, tool_choice="auto", tools=[],
        )  # fmt: skip
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=9
        )


class TestOpenAIAgentsModels(ModelContract):
    install = staticmethod(openai_agents.install)

    def changed(self, result):
        text = result.output[0].content[0].text.replace(PIN, "***")
        return ModelResponse(output=[message(text)], usage=result.usage, response_id="r")

    def _agent(self):
        return Agent("a", model=Saying(self.asked))

    async def ask_named(self):
        model = OpenAIResponsesModel("m-1", AsyncOpenAI(api_key="none"))
        await Runner.run(Agent("a", model=model), "hello")

    @way
    async def run_at_once(self):
        return [(await Runner.run(self._agent(), "hello")).final_output]

    @way
    async def run_streamed(self):
        self.left = left = []
        result = Runner.run_streamed(self._agent(), "hello")
        async for event in result.stream_events():
            left.append(getattr(getattr(event, "data", None), "delta", "") or repr(event))
        return [*left, result.final_output]

    async def test_a_write_into_the_input_of_a_run_starts_nothing(self, bus):
        judged = []
        bus.signal("pre_agent_run").connect(
            lambda agent, input: judged.append(str(input)), role="guard"
        )
        bus.signal("pre_agent_run").connect(
            lambda agent, input: input[0]["content"].append("eve"), role="guard", priority=-1
        )
        given = [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]
        with pytest.raises(HookBlocked, match="read-only"):
            await Runner.run(self._agent(), given)
        assert self.asked == [] and "hello" in judged[0] and "eve" not in str(given)
