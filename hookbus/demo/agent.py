"""The worst case: an agent that does the user's task, and obeys an injected goal completely as soon
as it reads that goal.
"""

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
"""The maximum number of tool calls: far more than any task and goal need together, so that no run
is cut short."""


@attrs.define
class Step:
    """One tool call of the agent.

    Attributes:
        call: the tool call to run.
        obeys: whether the call serves the injected goal, rather than the user.
        error: the error message of the loop, if the call was refused or the tool failed.
    """

    call: FunctionCall
    obeys: bool
    error: str | None = None


class WorstCaseAgent(BasePipelineElement):
    """Replaces the model in AgentDojo's loop, and requests one tool call at a time.

    It follows the ground truth of the user's task. As soon as a tool result contains the injected
    goal, the agent carries out the whole goal, once, and then continues. A refused call stops
    neither the goal nor the task. Its last message is the answer to the user's task, unless a call
    for the user failed, because then the agent cannot know the answer. The message also contains
    the words that the goal wants the agent to say.

    Args:
        user_task: the task of the user.
        injection_task: the goal that an attacker may have injected into the data, if any.
        before: the environment before the first call, from which the ground truth is computed.
    """

    # Attacks address the model by a name that they look up by the pipeline's name. This name is
    # rendered as "Local model".
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
        """Whether the agent served the injected goal: ran a tool call for it without an error, or
        wrote its expected output.
        """
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
        """Read the last tool result, if any, and request the next call or give the answer.
        """
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
    """Return AgentDojo's own pipeline and tool loop, with this agent in place of the model."""
    pipeline = AgentPipeline(
        [InitQuery(), agent, ToolsExecutionLoop([ToolsExecutor(), agent], max_iters=MOST_CALLS)]
    )
    pipeline.name = agent.name
    return pipeline


def shows(goal: str, text: str) -> bool:
    """Return whether a tool result contains this goal, regardless of line breaks, quotes and
    escapes.
    """
    return _pattern_of(goal).search(text) is not None


@functools.lru_cache(maxsize=256)
def _pattern_of(goal: str) -> re.Pattern[str]:
    return re.compile(r"(?:\\[nrt]|\W)+".join(map(re.escape, re.findall(r"\w+", goal))))


def _says(text: str, calls: list[FunctionCall] | None = None) -> ChatAssistantMessage:
    return ChatAssistantMessage(
        role="assistant", content=[text_content_block_from_string(text)], tool_calls=calls
    )
