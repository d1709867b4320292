"""A scripted model for LlamaIndex, agents that use it, and the messages that they received."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms import MockFunctionCallingLLM
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolMetadata, ToolOutput
from pydantic import BaseModel

from .tool_contract import Told

QUIET = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""LlamaIndex warns of what it does itself."""


def scripted(*answers: Any) -> MockFunctionCallingLLM:
    """A model that says these, one after the other; what it read stays in `model.read`."""
    left = iter(answers)

    def answer(messages: Any, **options: Any) -> ChatMessage:
        model.read[:] = messages
        return next(left)

    model = Reading(response_generator=answer, is_chat_model=True)
    return model


class Reading(MockFunctionCallingLLM):
    read: list[Any] = []


def asking(name: str, *calls: Any) -> ChatMessage:
    blocks = [
        ToolCallBlock(tool_call_id=f"{name}-{i:02}", tool_name=name, tool_kwargs=dict(args))
        for i, args in enumerate(calls)
    ]
    return ChatMessage(role="assistant", blocks=blocks)


def saying(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def acting(name: str, *calls: Any) -> list[ChatMessage]:
    return [
        saying(f"Thought: do it\nAction: {name}\nAction Input: {json.dumps(args)}")
        for args in calls
    ]


DONE = saying("done")
CONCLUDED = saying("Thought: I can answer without using any more tools.\nAnswer: done")


def tool_of(body: Any, *, is_async: bool = False, **options: Any) -> FunctionTool:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    async def apay(amount: int, to: str) -> str:
        """Pay a recipient."""
        await asyncio.sleep(0)
        return body(amount, to)

    if is_async:
        return FunctionTool.from_defaults(async_fn=apay, name="pay", **options)
    return FunctionTool.from_defaults(pay, **options)


class Payment(BaseModel):
    amount: int
    to: str


class Paying(AsyncBaseTool):
    """A tool written as a class of its own, one way to call it made of the other."""

    def __init__(self, body: Any) -> None:
        self.body = body

    @property
    def metadata(self) -> ToolMetadata:
        return ToolMetadata("Pay a recipient.", name="pay", fn_schema=Payment)

    def call(self, **arguments: Any) -> ToolOutput:
        text = self.body(**arguments)
        return ToolOutput("pay", text, raw_input=arguments, raw_output=text)

    async def acall(self, **arguments: Any) -> ToolOutput:
        return self.call(**arguments)


def agent_of(*answers: Any, tools: Any = (), **options: Any) -> FunctionAgent:
    return FunctionAgent(llm=scripted(*answers), tools=[*tools], **options)


def reacting(*answers: Any, tools: Any = (), **options: Any) -> ReActAgent:
    return ReActAgent(llm=scripted(*answers), tools=[*tools], **options)


async def told(agent: Any, runner: Any = None) -> Told:
    """Run it, or what it is one of; return what it was told, what its events and its memory hold
    of it."""
    handler = (runner or agent).run("go", max_iterations=50)
    events = [event async for event in handler.stream_events()]
    output = await handler
    read = agent.llm.read
    answers = sorted(
        (str(each.additional_kwargs["tool_call_id"]), str(each.content)) for each in read
        if each.role == "tool" and str(each.additional_kwargs["tool_call_id"]).startswith("pay")
    )  # fmt: skip
    observed = [
        str(each.content).removeprefix("Observation: ") for each in read
        if str(each.content).startswith("Observation: ")
    ]  # fmt: skip
    everything = f"{read} {events} {[vars(each) for each in events]} {output.tool_calls}"
    return Told([text for _, text in answers] or observed, everything,
                str(output.response.content) == "done")  # fmt: skip
