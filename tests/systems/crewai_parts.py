"""A scripted model for CrewAI, crews that use it, and the messages that they received."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false",
    CREWAI_TESTING="true",
)  # fmt: skip

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # CrewAI's own, while it is imported
    from crewai import Agent, Crew, Task
    from crewai.llms.base_llm import BaseLLM
    from crewai.tools import BaseTool, tool

from .tool_contract import Told

QUIET = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""CrewAI warns of what it does itself."""


class Scripted(BaseLLM):
    """Says what it is to say, one after the other; what it read stays in `read`."""

    model: str = "scripted"
    answers: Any = ()
    calls_functions: bool = True
    read: Any = ""

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.read = json.loads(json.dumps(messages, default=str))
        self.answers, answer = self.answers[1:], self.answers[0]
        return answer

    async def acall(self, messages: Any, *args: Any, **options: Any) -> Any:
        return self.call(messages, *args, **options)

    def supports_function_calling(self) -> bool:
        return self.calls_functions


def asking(name: str, *calls: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"call-{i}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(args)}}
        for i, args in enumerate(calls)
    ]  # fmt: skip


def acting(name: str, *calls: Any) -> list[str]:
    return [f"Thought: do it\nAction: {name}\nAction Input: {json.dumps(args)}" for args in calls]


DONE = "Thought: I now know the final answer\nFinal Answer: done"


def calling(*answers: Any) -> Scripted:
    """A model that calls functions."""
    return Scripted(model="scripted", answers=[*answers, "done"])


def writing(*answers: Any) -> Scripted:
    """A model that writes its actions, which CrewAI reads."""
    return Scripted(model="scripted", answers=[*answers, DONE], calls_functions=False)


def tool_of(body: Any, *, is_async: bool = False, **options: Any) -> BaseTool:
    if is_async:

        @tool("pay", **options)
        async def apay(amount: int, to: str) -> str:
            """Pay a recipient."""
            return body(amount, to)

        return apay

    @tool("pay", **options)
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    return pay


class Paying(BaseTool):
    """A tool written as a class of its own, whose `run` calls its parent's."""

    name: str = "pay"
    description: str = "Pay a recipient."
    body: Any = None

    def _run(self, amount: int, to: str) -> str:
        return self.body(amount, to)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return super().run(*args, **kwargs)


def agent_of(model: Any, *tools: Any, role: str = "payer", **options: Any) -> Agent:
    return Agent(
        role=role, goal="pay", backstory="none", llm=model, tools=[*tools], max_iter=50, **options
    )


def crew_of(agent: Any, *others: Any, **options: Any) -> Crew:
    task = Task(description="go", expected_output="done", agent=agent)
    return Crew(agents=[agent, *others], tasks=[task], **options)


def told(agent: Any, output: Any) -> Told:
    """What an agent was told: each call in a message, or what its model read after each action."""
    read = agent.llm.read
    answers = [each["content"] for each in read if each["role"] == "tool"] or [
        each["content"].partition("Observation:")[2] for each in read
        if "\nObservation:" in str(each["content"]) and "Action: pay" in str(each["content"])
    ]  # fmt: skip
    return Told(answers, f"{read} {agent.tools_results}", str(output) == "done")
