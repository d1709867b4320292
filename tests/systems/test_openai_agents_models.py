"""Every way to ask a model of the OpenAI Agents SDK under the contract of models."""

from __future__ import annotations

from typing import Any

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
        self.asked.append(1)
        return ModelResponse(output=[message(ANSWER)], usage=Usage(), response_id="r")

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(1)
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
