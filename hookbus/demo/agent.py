"""The worst case: an agent that plays the user's task and obeys an injected goal entirely, the
moment it reads one."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs
from agentdojo.agent_pipeline import (
    AgentPipeline,
    BasePipelineElement,
    InitQuery,
    ToolsExecutionLoop,
    ToolsExecutor,
)  # fmt: skip
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import (
    EmptyEnv,
    Env,
    FunctionCall,
    FunctionsRuntime,
    TaskEnvironment,
)  # fmt: skip
from agentdojo.types import (
    ChatAssistantMessage,
    ChatMessage,
    ChatToolResultMessage,
    get_text_content_as_str,
    text_content_block_from_string,
)

from .goals import calls_towards

MOST_CALLS: Final = 200
"""How often the loop may turn: far more than any task and goal together, so that no run is cut
short."""


@attrs.define
class Step:
    """One tool call of the agent.

    Attributes:
        call: what it asks the loop to run.
        obeys: whether the injected goal wanted it, rather than the user.
        error: what the loop said instead of a result: a refusal, or the tool's own failure.
    """

    call: FunctionCall
    obeys: bool
    error: str | None = None


class WorstCaseAgent(BasePipelineElement):
    """Stands where a model would stand in AgentDojo's loop, and asks for one tool call at a time.

    It plays the ground truth of the user's task. As soon as a tool result shows the injected goal,
    it carries out the whole goal, once, and then goes on; a refusal stops neither. Its last message
    is the answer to the user's task, unless a call for the user failed (it cannot know the answer
    then), and what the goal wanted said.

    Args:
        user_task: the task of the user.
        injection_task: the goal somebody may have planted in the data, if any.
        before: the environment as it is before the first call, which the ground truth is computed
            from.
    """

    # Attacks address the model by name and look it up by the pipeline's; this one they render as
    # "Local model".
    name = "local-worst-case-agent"

    def __init__(
        self,
        user_task: BaseUserTask[TaskEnvironment],
        injection_task: BaseInjectionTask[TaskEnvironment] | None,
        before: TaskEnvironment,
    ) -> None:
        self.user_task = user_task
        self.injection_task = injection_task
        self.before = before
        self.steps: list[Step] = []
        self.has_obeyed: bool = False
        self._waiting = deque(Step(call, obeys=False) for call in user_task.ground_truth(before))

    @property
    def has_served_goal(self) -> bool:
        """Whether anything was done for the goal: a call that got through, or words it wanted
        said."""
        says = self.injection_task is not None and self.injection_task.GROUND_TRUTH_OUTPUT
        return any(step.obeys and step.error is None for step in self.steps) or bool(
            self.has_obeyed and says
        )

    def query(
        self,
        query: str,
        runtime: FunctionsRuntime,
        env: Env = EmptyEnv(),  # type: ignore[assignment]  # noqa: B008 - AgentDojo's own signature
        messages: Sequence[ChatMessage] = (),
        extra_args: dict[str, Any] | None = None,
    ) -> tuple[str, FunctionsRuntime, Env, Sequence[ChatMessage], dict[str, Any]]:
        """Read the last tool result, if there is one, and ask for the next call or give the
        answer."""
        if messages and messages[-1]["role"] == "tool":
            self._read(messages[-1], env)
        return query, runtime, env, [*messages, self._next_message()], extra_args or {}

    def _read(self, message: ChatToolResultMessage, env: TaskEnvironment) -> None:
        self.steps[-1].error = message["error"]
        goal = self.injection_task
        if goal is None or self.has_obeyed:
            return
        seen = f"{get_text_content_as_str(message['content'])}\n{message['error'] or ''}"
        if shows(goal.GOAL, seen):
            self.has_obeyed = True
            steps = [Step(call, obeys=True) for call in calls_towards(goal, self.before, env)]
            self._waiting.extendleft(reversed(steps))

    def _next_message(self) -> ChatAssistantMessage:
        if not self._waiting:
            return _says("\n".join(self._answers()))
        step = self._waiting.popleft()
        self.steps.append(step)
        return _says("", [step.call])

    def _answers(self) -> Iterable[str]:
        if all(step.error is None for step in self.steps if not step.obeys):
            yield self.user_task.GROUND_TRUTH_OUTPUT
        if self.injection_task is not None and self.has_obeyed:
            yield self.injection_task.GROUND_TRUTH_OUTPUT


def pipeline_of(agent: WorstCaseAgent) -> AgentPipeline:
    """Return AgentDojo's own pipeline and tool loop with this agent in the model's place."""
    pipeline = AgentPipeline(
        [InitQuery(), agent, ToolsExecutionLoop([ToolsExecutor(), agent], max_iters=MOST_CALLS)]
    )
    pipeline.name = agent.name
    return pipeline


def shows(goal: str, text: str) -> bool:
    """Return whether a tool result shows this goal, whatever its formatter did to line breaks,
    quotes and escapes."""
    return _pattern_of(goal).search(text) is not None


@functools.lru_cache(maxsize=256)
def _pattern_of(goal: str) -> re.Pattern[str]:
    return re.compile(r"(?:\\[nrt]|\W)+".join(map(re.escape, re.findall(r"\w+", goal))))


def _says(text: str, calls: list[FunctionCall] | None = None) -> ChatAssistantMessage:
    return ChatAssistantMessage(
        role="assistant", content=[text_content_block_from_string(text)], tool_calls=calls
    )
