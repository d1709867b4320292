"""A scripted model for smolagents, agents that use it, and the messages that they received."""

from __future__ import annotations

import json
from typing import Any

from smolagents import LogLevel, Tool, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    Model,
)

from .tool_contract import Told


class Scripted(Model):
    """Says what it is to say, one after the other."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(model_id="scripted")
        self.answers, self.read = iter(answers), []

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        self.read = messages
        answer = next(self.answers)
        if isinstance(answer, str):
            return ChatMessage("assistant", answer)
        return ChatMessage("assistant", "", tool_calls=answer)

    def generate_stream(self, messages: Any, **options: Any) -> Any:
        answer = self.generate(messages)
        for i, each in enumerate(answer.tool_calls or ()):
            asked = ChatMessageToolCallFunction(json.dumps(each.function.arguments),
                                                each.function.name)  # fmt: skip
            call = ChatMessageToolCallStreamDelta(i, each.id, "function", asked)
            yield ChatMessageStreamDelta(tool_calls=[call])


def asking(name: str, *calls: Any) -> list[ChatMessageToolCall]:
    return [
        ChatMessageToolCall(ChatMessageToolCallFunction(dict(args), name), f"call-{i:02}",
                            "function")
        for i, args in enumerate(calls)
    ]  # fmt: skip


DONE = asking("final_answer", {"answer": "done"})


def coded(*lines: str) -> list[str]:
    return [f"<code>\n{line}\n</code>" for line in (*lines, 'final_answer("done")')]


def tool_of(body: Any) -> Tool:
    @tool
    def pay(amount: int, to: str) -> str:
        """Pay a recipient.

        Args:
            amount: how much.
            to: who.
        """
        return body(amount, to)

    return pay


class Paying(Tool):
    """A tool written as a class of its own, whose `__call__` calls its parent's."""

    name, description, output_type = "pay", "Pay a recipient.", "string"
    inputs = {
        "amount": {"type": "integer", "description": "how much"},
        "to": {"type": "string", "description": "who"},
    }
    body: Any = None

    def forward(self, amount: int, to: str) -> str:
        return self.body(amount, to)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


QUIET: Any = {"verbosity_level": LogLevel.OFF, "max_steps": 30}


def calling(tools: Any, *answers: Any, **options: Any) -> ToolCallingAgent:
    return ToolCallingAgent(tools, Scripted(*answers, DONE), **QUIET, **options)


def everything(agent: Any) -> str:
    return f"{agent.memory.get_full_steps()} {agent.state} {agent.model.read}"


def told(agent: Any, output: Any) -> Told:
    """What an agent was told that makes all its calls in its first step."""
    first = next(step for step in agent.memory.steps if hasattr(step, "observations"))
    return Told(first.observations.split("\n"), everything(agent), output == "done")


def told_by_code(agent: Any, output: Any) -> Told:
    """What an agent was told that makes each call in a step of its own."""
    steps = [step for step in agent.memory.steps if hasattr(step, "observations")][:-1]
    answers = [str(step.error.message if step.error else step.observations) for step in steps]
    return Told(answers, everything(agent), output == "done")
