"""Parts of AgenticX for tests: a scripted model, functions as tools, an executor, a runtime.

A runtime stores files in the home folder, so a test that makes one sets another folder.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from agenticx.core.agent import Agent
from agenticx.core.agent_executor import AgentExecutor
from agenticx.core.event import EventLog
from agenticx.core.task import Task
from agenticx.llms.base import BaseLLMProvider
from agenticx.llms.response import LLMResponse, TokenUsage
from agenticx.tools.base import BaseTool
from agenticx.tools.executor import ToolExecutor as ToolExecutor


class ScriptedModel(BaseLLMProvider):
    """Gives the answers it was made with, one after the other, and notes what it was asked."""

    model: str = "scripted"
    answers: list[Any] = []
    asked: list[Any] = []

    def invoke(self, prompt: Any, **kwargs: Any) -> LLMResponse:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if self.answers else finish("done")
        if isinstance(answer, Exception):
            raise answer
        return LLMResponse(
            id="1", model_name=self.model, created=int(time.time()), content=answer, choices=[],
            token_usage=TokenUsage(),
        )  # fmt: skip

    async def ainvoke(self, prompt: Any, **kwargs: Any) -> LLMResponse:
        return self.invoke(prompt, **kwargs)

    def stream(self, prompt: Any, **kwargs: Any) -> Any:
        yield self.invoke(prompt, **kwargs).content

    async def astream(self, prompt: Any, **kwargs: Any) -> Any:
        yield self.invoke(prompt, **kwargs).content


def call(tool: str, **args: Any) -> str:
    """Return what a model says to have a tool called."""
    return json.dumps(
        {"action": "tool_call", "tool": tool, "args": args, "reasoning": "it is needed"}
    )


def finish(result: str) -> str:
    """Return what a model says to end the task."""
    return json.dumps({"action": "finish_task", "result": result, "reasoning": "it is done"})


class Tool(BaseTool):
    """A tool that is a function."""

    def __init__(self, name: str, body: Callable[..., Any]) -> None:
        super().__init__(name=name, description=name)
        self._body = body

    def _run(self, **kwargs: Any) -> Any:
        return self._body(**kwargs)


class BareTool(Tool):
    """The same without AgenticX's wrapping of what it raises."""

    def run(self, **kwargs: Any) -> Any:
        return self._body(**kwargs)


def made_executor(answers: Iterable[Any] = (), **tools: Any) -> AgentExecutor:
    """Make an executor that loads no hooks from anywhere."""
    model = ScriptedModel(answers=list(answers), asked=[])
    made = [
        body if isinstance(body, BaseTool) else Tool(name, body) for name, body in tools.items()
    ]
    return AgentExecutor(
        model, tools=made, auto_load_hooks=False, enable_context_compilation=False, max_iterations=6
    )


def made_agent(**options: Any) -> Agent:
    """Make an agent."""
    return Agent(**{"id": "me", "name": "me", "role": "tester", "goal": "to test", **options})


def run(executor: AgentExecutor, agent: Agent | None = None) -> SimpleNamespace:
    """Run a task; return its outcome, its events, and those of tools as short rows."""
    outcome = executor.run(
        agent or made_agent(), Task(description="a task", expected_output="anything")
    )
    events = outcome["event_log"].events
    rows = [
        (event.type, event.tool_args)
        if event.type == "tool_call"
        else (event.type, event.success, event.result, event.error)
        for event in events
        if event.type in ("tool_call", "tool_result")
    ]
    return SimpleNamespace(
        **{**outcome, "events": events, "rows": rows, "kinds": [event.type for event in events]}
    )


def execute(
    executor: AgentExecutor, tool: str, agent: Agent | None = None, **args: Any
) -> EventLog:
    """Execute one action of calling a tool; return the log of events."""
    log = EventLog(agent_id="me", task_id="task")
    executor._execute_action({"action": "tool_call", "tool": tool, "args": args}, log, agent)
    return log


class RuntimeModel(ScriptedModel):
    """The same for a runtime: an answer that is a dict is the call of a tool, a list is several."""

    def invoke(self, prompt: Any, **kwargs: Any) -> LLMResponse:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if self.answers else "done"
        calls = (
            [answer] if isinstance(answer, dict) else answer if isinstance(answer, list) else None
        )
        return LLMResponse(
            id="1", model_name=self.model, created=int(time.time()),
            content="" if calls else answer, choices=[], token_usage=TokenUsage(), tool_calls=calls,
        )  # fmt: skip


def note(key: str, value: str) -> dict[str, Any]:
    """Return what a model says to have a note written, by a tool that every runtime has."""
    arguments = json.dumps({"key": key, "value": value})
    return {
        "id": f"call-{key}",
        "type": "function",
        "function": {"name": "scratchpad_write", "arguments": arguments},
    }


def made_runtime(answers: Iterable[Any] = (), hooks: Any = None) -> Any:
    """Make a runtime with AgenticX's own hooks of runtimes and these."""
    from agenticx.runtime.agent_runtime import AgentRuntime
    from agenticx.runtime.confirm import AutoApproveConfirmGate

    return AgentRuntime(
        RuntimeModel(answers=list(answers), asked=[]), AutoApproveConfirmGate(), hooks=hooks
    )


def turn(runtime: Any) -> SimpleNamespace:
    """Run one turn; return its events about tools, errors and the end, and the notes that were
    written."""
    from agenticx.cli.agent_tools import STUDIO_TOOLS
    from agenticx.cli.studio import StudioSession

    session, events = StudioSession(), []
    tools = [tool for tool in STUDIO_TOOLS if tool["function"]["name"] == "scratchpad_write"]

    async def go() -> None:
        async for event in runtime.run_turn("hello", session, agent_id="me", tools=tools):
            events.append((event.type, event.data))

    asyncio.run(go())
    told = {"tool_call": "arguments", "tool_result": "result", "error": "text", "final": "text"}
    rows = [(kind, data[told[kind]]) for kind, data in events if kind in told]
    notes = {key: value for key, value in session.scratchpad.items() if not key.startswith("__")}
    return SimpleNamespace(rows=rows, notes=notes, session=session)
