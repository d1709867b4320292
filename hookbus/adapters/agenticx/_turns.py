"""Tracks one model or tool call of AgenticX's executor, from its before-hooks to its
after-hooks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hookbus import HookBlocked

from .._own_hooks import Hook, View
from ._asks import LegacyBefore, Subject, completed
from ._points import Own

LOG: Final = logging.getLogger("agenticx.core.agent_executor")


class AgentView(View):
    """A view of an agent that hides the agent's lists of hooks from the executor. Its `__class__`
    is the agent's class."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.__dict__["_behind"])


class Turn:
    """One call, from its before-hooks to its after-hooks.

    Attributes:
        agent: the agent that makes the call, or None if the agent is unknown.
        context: the context that AgenticX passes to its hooks; None until the first hook is called.
        core_context: the context for `core.hooks`, with `strict=True`.
        blocked: the hook that blocked the call.
    """

    def __init__(self, agent: Any, kind: str, *, strict: bool) -> None:
        self.agent, self.kind, self._strict = agent, kind, strict
        self.context: Any = None
        self.core_context: Any = None
        self.blocked: HookBlocked | None = None
        self.has_ended = False
        self._is_executed = False
        self._answer: Any = None
        self._is_replaced = False
        hooks = getattr(agent, f"{kind}_hooks", None) or {}
        self._before: Sequence[Hook] = list(hooks.get("before") or ())
        self._after: Sequence[Hook] = list(hooks.get("after") or ())

    def view(self) -> Any:
        """Return a view of the agent for the executor, without hooks, because hookbus calls the
        agent's hooks."""
        if self.agent is None:
            return None
        return AgentView(
            self.agent, **{f"{self.kind}_hooks": {"before": [], "after": [self._hand_over]}}
        )

    def _hand_over(self, context: Any) -> Any:
        return self._answer if self._is_replaced else None

    def takes(self, kind: str, phase: str | None, context: Any) -> bool:
        """Return whether hooks with this context belong to this call, and not to a nested call."""
        if self.context is None and phase == "before" and kind == self.kind:
            self.context = context
        return context is self.context

    def is_first_execution(self) -> bool:
        """Return True for the first execution of a tool in this tool call, and False for later
        executions."""
        is_first = self.kind == "tool" and self.context is not None and not self._is_executed
        self._is_executed = self._is_executed or is_first
        return is_first

    def own(self, run: Any) -> list[Own]:
        """Return the agent's own hooks."""
        title = f"Agent {'LLM' if self.kind == 'llm' else 'Tool'} {run.phase} hook"

        def warn(error: Exception) -> None:
            LOG.warning("%s error: %s", title, error)

        if run.phase == "before":
            ask = LegacyBefore(run.subject, warn, strict=self._strict)
            return [Own(hook, ask) for hook in self._before]
        return [
            Own(hook, _AgentAfter(run.subject, self, warn, strict=self._strict))
            for hook in self._after
        ]

    def note_replaced(self) -> None:
        """Record that one of the agent's hooks replaced the result, possibly with a value of
        another type."""
        self._is_replaced = True

    def stop(self, phase: str | None, blocked: HookBlocked) -> None:
        """Record which hook blocked the call or withheld its result."""
        self.blocked = blocked
        if phase == "after":
            self.has_ended, self._is_replaced, self._answer = True, True, str(blocked)

    def finish(self, value: Any, *, is_replaced: bool) -> None:
        """Store the final result, after all receivers have run."""
        self.has_ended, self._answer = True, value
        self._is_replaced = (
            self._is_replaced or is_replaced or not (value is None or isinstance(value, str))
        )


class _AgentAfter:
    """Calls an agent's hook after a call. Any return value except None replaces the result."""

    def __init__(self, subject: Subject, turn: Turn, warn: Any, *, strict: bool) -> None:
        self._subject, self._turn, self._warn, self._strict = subject, turn, warn, strict

    def __call__(self, hook: Hook, kwargs: Mapping[str, Any]) -> Any:
        self._subject.put(kwargs)
        try:
            answer = hook(self._subject.context)
            answer = completed(answer) if self._strict else answer
        except Exception as error:
            self._warn(error)
            raise
        if answer is None:
            return None
        self._turn.note_replaced()
        return {self._subject.argument: answer}
