"""Every way to ask a model of Strands under the contract of models."""

from __future__ import annotations

from typing import Any

from strands import Agent
from strands.models.bedrock import BedrockModel
from strands.models.model import Model

from hookbus.adapters import strands

from .model_contract import (  # noqa: F401
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)


class Saying(Model):
    def __init__(self, asked: Any) -> None:
        self.asked = asked

    def update_config(self, **config: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for part in PARTS:
            yield {"contentBlockDelta": {"delta": {"text": part}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class TestStrandsModels(ModelContract):
    install = staticmethod(strands.install)

    def changed(self, result):
        texts = [{"text": each["text"].replace(PIN, "***")} for each in result["content"]]
        return {**result, "content": texts}

    async def ask_named(self):
        messages = [{"role": "user", "content": [{"text": "hello"}]}]
        async for _ in BedrockModel(model_id="m-1", region_name="us-east-1").stream(messages):
            pass

    @way
    async def streamed(self):
        messages = [{"role": "user", "content": [{"text": "hello"}]}]
        self.left = left = []
        async for event in Saying(self.asked).stream(messages):
            left.append(event.get("contentBlockDelta", {}).get("delta", {}).get("text", ""))
        return left

    @way
    async def agent(self):
        agent = Agent(model=Saying(self.asked), callback_handler=None)
        return [str(await agent.invoke_async("hello"))]

    @way
    async def agent_streamed(self):
        self.left = left = []
        agent = Agent(model=Saying(self.asked), callback_handler=None)
        async for event in agent.stream_async("hello"):
            left.append(str(event.get("data", "")))
        return left

    @way
    def agent_with_a_callback(self):
        self.left = left = []

        def told(**event: Any) -> None:
            left.append(str(event.get("data", "")))

        Agent(model=Saying(self.asked), callback_handler=told)("hello")
        return left
