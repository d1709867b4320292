"""Runs AgenticX's `hooks.llm_hooks` and `hooks.tool_hooks` on hookbus. These hooks take a context.
A before-hook blocks the call by returning False, and an after-hook replaces the result by returning
a string."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hookbus import HookBlocked

from .._own_hooks import Hook
from ._asks import Kind, LegacyAfter, LegacyBefore, Subject
from ._core import check_callable
from ._points import SYNC_POINTS, Call, Own, Points

KINDS: Final = {
    "llm": Kind("llm", ("messages", "messages"), ("response", "response")),
    "tool": Kind("tool", ("args", "tool_input"), ("output", "tool_result")),
}


@dataclass
class LLMCallHookContext:
    """The context of a model call. Hooks change `messages` in place; `response` is set after the
    call."""

    messages: list[dict[str, Any]]
    agent_id: str | None = None
    agent_name: str | None = None
    task_id: str | None = None
    iterations: int = 0
    response: str | None = None
    model_name: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.messages = [] if self.messages is None else self.messages
        self.metadata = {} if self.metadata is None else self.metadata


@dataclass
class ToolCallHookContext:
    """The context of a tool call. Hooks change `tool_input` in place; `tool_result` is set after
    the call."""

    tool_name: str
    tool_input: dict[str, Any]
    tool: Any = None
    agent_id: str | None = None
    agent_name: str | None = None
    task_id: str | None = None
    tool_result: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tool_input = {} if self.tool_input is None else self.tool_input
        self.metadata = {} if self.metadata is None else self.metadata


class _Legacy:
    """Calls the hooks of one kind through hookbus, without AgenticX's event bus."""

    def __init__(self, points: Points, kind: str) -> None:
        self._points, self._kind = points, KINDS[kind]
        self._log = logging.getLogger("agenticx.hooks.registry")

        class Legacy:
            """The sender of the hook points of one module."""

        points.add(Legacy, *SYNC_POINTS)
        self._owner = Legacy()

    def before(self, hooks: Sequence[Hook], context: Any) -> bool:
        subject = Subject(context, *self._kind.before)
        ask = LegacyBefore(subject, self._warn("before_call"), strict=self._points.strict)
        call = Call(context, [Own(hook, ask) for hook in hooks])
        try:
            self._ask("start", call, subject, self._points.on_start_error)
        except HookBlocked:
            return False
        if call.is_reached:
            subject.put({subject.argument: call.value})
        return call.is_reached

    def after(self, hooks: Sequence[Hook], context: Any) -> str | None:
        subject = Subject(context, *self._kind.after)
        ask = LegacyAfter(subject, self._warn("after_call"), strict=self._points.strict)
        call = Call(context, [Own(hook, ask) for hook in hooks])
        original = getattr(context, subject.attribute)
        try:
            self._ask("end", call, subject, None)
            answer = call.value if call.is_reached else original
        except HookBlocked as blocked:
            answer = str(blocked)
        if not isinstance(answer, str) or answer == original:
            return None
        subject.put({subject.argument: answer})
        return answer

    def _ask(self, phase: str, call: Call, subject: Subject, on_error: str | None) -> None:
        arguments = {subject.argument: getattr(call.context, subject.attribute)}
        if self._kind.name == "tool":
            arguments["tool_name"] = call.of_tool(call.context.tool_name).context.tool_name
        self._points.ask(self._owner, f"{self._kind.name}_{phase}", call, on_error, **arguments)

    def _warn(self, action: str) -> Callable[[Exception], object]:
        return lambda error: self._log.warning(
            "Hook handler failed for %s:%s: %s", self._kind.name, action, error
        )


def legacy_namespace(points: Points, kind: str) -> dict[str, Any]:
    """Return replacements for the public functions of `agenticx.hooks.llm_hooks` or `tool_hooks`,
    with their own lists of hooks."""
    legacy = _Legacy(points, kind)
    before: list[Hook] = []
    after: list[Hook] = []

    def execute_before(context: Any) -> bool:
        """Call the hooks, and return whether they allow the call."""
        return legacy.before(before, context)

    def execute_after(context: Any) -> str | None:
        """Call the hooks, and return the string that replaces the result, or None if no hook
        replaced it."""
        return legacy.after(after, context)

    def clear_all() -> tuple[int, int]:
        """Remove all hooks, and return the number of before-hooks and of after-hooks."""
        counts = len(before), len(after)
        before.clear()
        after.clear()
        return counts

    context_class = LLMCallHookContext if kind == "llm" else ToolCallHookContext
    return {
        context_class.__name__: context_class,
        **_registration(f"before_{kind}_call_hook", before),
        **_registration(f"after_{kind}_call_hook", after),
        f"clear_all_{kind}_call_hooks": clear_all,
        f"execute_before_{kind}_call_hooks": execute_before,
        f"execute_after_{kind}_call_hooks": execute_after,
    }  # fmt: skip


def _registration(name: str, hooks: list[Hook]) -> dict[str, Callable[..., Any]]:
    def register(hook: Any) -> None:
        """Register a hook. A hook that is already registered keeps its position.

        Raises:
            HookError: if the hook is not callable.
        """
        check_callable(hook, name)
        if hook not in hooks:
            hooks.append(hook)

    def unregister(hook: Any) -> bool:
        """Remove a hook, and return whether it was registered."""
        if hook not in hooks:
            return False
        hooks.remove(hook)
        return True

    def clear() -> int:
        """Remove all hooks, and return their number."""
        count = len(hooks)
        hooks.clear()
        return count

    def get() -> list[Hook]:
        """Return a copy of the list of hooks."""
        return list(hooks)

    return {
        f"register_{name}": register, f"unregister_{name}": unregister, f"clear_{name}s": clear,
        f"get_{name}s": get,
    }  # fmt: skip
