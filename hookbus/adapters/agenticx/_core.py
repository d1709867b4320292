"""Runs AgenticX's `core.hooks` on hookbus. These hooks take a context, and run before and after
model and tool calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hookbus import HookBlocked, HookError

from .._own_hooks import Hook, title_of
from .._patches import Patches
from ._asks import CoreAfter, CoreBefore, Kind, Subject
from ._points import SYNC_POINTS, Call, Own, Points

KINDS: Final = {
    "llm": Kind("llm", ("messages", "messages"), ("response", "response")),
    "tool": Kind("tool", ("args", "tool_args"), ("output", "result")),
}


@dataclass
class LLMCallHookContext:
    """The context of a model call; the fields after `timestamp` are set only after the call."""

    agent_id: str
    task_id: str | None = None
    messages: list[Any] = field(default_factory=list)
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    iteration: int = 0
    timestamp: datetime = field(default_factory=datetime.now)
    response: Any = None
    tokens_used: int | None = None
    cost: float | None = None
    duration_ms: float | None = None
    error: Exception | None = None


@dataclass
class ToolCallHookContext:
    """The context of a tool call; the fields after `timestamp` are set only after the call."""

    agent_id: str
    task_id: str | None = None
    tool_name: str = ""
    tool_args: dict[str, Any] = field(default_factory=dict)
    iteration: int = 0
    timestamp: datetime = field(default_factory=datetime.now)
    result: Any = None
    success: bool = True
    duration_ms: float | None = None
    error: Exception | None = None


LLMHookFunction = Callable[[LLMCallHookContext], bool]
ToolHookFunction = Callable[[ToolCallHookContext], bool]


class CoreHooks:
    """Calls the hooks of `core.hooks` through hookbus."""

    def __init__(self, points: Points, patches: Patches | None = None) -> None:
        self._points = points

        class Core:
            """The sender of the hook points of `core.hooks`."""

        points.add(Core, *SYNC_POINTS, patches=patches)
        self._make, self._shared = Core, Core()

    def before(
        self, kind: str, hooks: Sequence[Hook], context: Any, agent_hooks: Sequence[Hook] | None
    ) -> bool:
        """Call the global hooks and then the agent's hooks. Return True if no hook blocked the
        call.
        """
        call = Call(context, self.own_before(kind, hooks, context, agent_hooks))
        try:
            self._ask(
                "start", kind, call, KINDS[kind].before, bool(agent_hooks),
                self._points.on_start_error,
            )  # fmt: skip
        except HookBlocked:
            return False
        if call.is_reached:
            _put(context, KINDS[kind].before[1], call.value)
        return call.is_reached

    def after(
        self, kind: str, hooks: Sequence[Hook], context: Any, agent_hooks: Sequence[Hook] | None
    ) -> bool:
        """Call all hooks, and write the final result into the context.

        Return True always, as AgenticX does.
        """
        call = Call(context, self.own_after(kind, hooks, context, agent_hooks))
        try:
            self._ask("end", kind, call, KINDS[kind].after, bool(agent_hooks), None)
        except HookBlocked as blocked:
            _put(context, KINDS[kind].after[1], str(blocked))
            return True
        if call.is_reached:
            _put(context, KINDS[kind].after[1], call.value)
        return True

    def _ask(
        self, phase: str, kind: str, call: Call, names: tuple[str, str], is_alone: bool,
        on_error: str | None,
    ) -> None:  # fmt: skip
        argument, attribute = names
        arguments = {argument: getattr(call.context, attribute)}
        if kind == "tool":
            arguments["tool_name"] = call.of_tool(call.context.tool_name).context.tool_name
        # An agent's hooks are passed with the call, so concurrent calls must not share a sender.
        owner = self._make() if is_alone else self._shared
        self._points.ask(owner, f"{kind}_{phase}", call, on_error, **arguments)

    def own_before(
        self, kind: str, hooks: Sequence[Hook], context: Any,
        agent_hooks: Sequence[Hook] | None = None,
    ) -> list[Own]:  # fmt: skip
        """Return the hooks that run before a call, in order."""
        return self._own(
            CoreBefore, f"before {_title(kind)} call", kind, KINDS[kind].before, hooks, context,
            agent_hooks,
        )  # fmt: skip

    def own_after(
        self, kind: str, hooks: Sequence[Hook], context: Any,
        agent_hooks: Sequence[Hook] | None = None,
    ) -> list[Own]:  # fmt: skip
        """Return the hooks that run after a call, in order."""
        return self._own(
            CoreAfter, f"after {_title(kind)} call", kind, KINDS[kind].after, hooks, context,
            agent_hooks,
        )  # fmt: skip

    def _own(
        self, asks: type[CoreBefore | CoreAfter], title: str, kind: str, names: tuple[str, str],
        hooks: Sequence[Hook], context: Any, agent_hooks: Sequence[Hook] | None,
    ) -> list[Own]:  # fmt: skip
        subject = Subject(context, *names)
        log = logging.getLogger(f"agenticx.core.hooks.{kind}_hooks")
        shared = asks(subject, log, title, strict=self._points.strict)
        of_agent = asks(subject, log, f"agent-level {title}", strict=self._points.strict)
        return [
            *(Own(hook, shared) for hook in hooks),
            *(Own(hook, of_agent) for hook in agent_hooks or ()),
        ]


def _title(kind: str) -> str:
    return "LLM" if kind == "llm" else kind


def _put(context: Any, attribute: str, value: Any) -> None:
    if getattr(context, attribute) is not value:
        setattr(context, attribute, value)


def core_namespace(points: Points) -> dict[str, Any]:
    """Return replacements for the public functions of `agenticx.core.hooks`, with their own lists
    of hooks.
    """
    core = CoreHooks(points)
    names: dict[str, Any] = {
        "LLMCallHookContext": LLMCallHookContext, "ToolCallHookContext": ToolCallHookContext,
        "LLMHookFunction": LLMHookFunction, "ToolHookFunction": ToolHookFunction,
    }  # fmt: skip
    for kind in KINDS:
        names |= _functions(core, kind)
    return names


def _functions(core: CoreHooks, kind: str) -> dict[str, Any]:
    before: list[Hook] = []
    after: list[Hook] = []

    def execute_before(context: Any, agent_hooks: Sequence[Hook] | None = None) -> bool:
        """Call the hooks, and return whether they allow the call."""
        return core.before(kind, before, context, agent_hooks)

    def execute_after(context: Any, agent_hooks: Sequence[Hook] | None = None) -> bool:
        """Call the hooks. Changes that they make to the context take effect, but return values are
        ignored.
        """
        return core.after(kind, after, context, agent_hooks)

    def clear_all() -> None:
        """Remove all global hooks."""
        before.clear()
        after.clear()

    def get_registered() -> dict[str, list[str]]:
        """Return the names of the global hooks."""
        return {
            "before": [title_of(hook) for hook in before],
            "after": [title_of(hook) for hook in after],
        }

    return {
        **registration(f"before_{kind}_call_hook", before),
        **registration(f"after_{kind}_call_hook", after),
        f"execute_before_{kind}_call_hooks": execute_before,
        f"execute_after_{kind}_call_hooks": execute_after, f"clear_all_{kind}_hooks": clear_all,
        f"get_registered_{kind}_hooks": get_registered,
    }  # fmt: skip


def registration(name: str, hooks: list[Hook]) -> dict[str, Callable[[Any], None]]:
    """Return the functions that add hooks to a list of `core.hooks` and remove hooks from the
    list.
    """

    def register(hook: Any) -> None:
        """Register a hook. A hook that is already registered keeps its position.

        Raises:
            HookError: if the hook is not callable.
        """
        check_callable(hook, name)
        if hook not in hooks:
            hooks.append(hook)

    def unregister(hook: Any) -> None:
        """Remove a hook, if it is registered."""
        if hook in hooks:
            hooks.remove(hook)

    return {f"register_{name}": register, f"unregister_{name}": unregister}


def check_callable(hook: Any, name: str) -> None:
    """Raise an error if a value cannot be a hook."""
    if not callable(hook):
        raise HookError(f"{hook!r:.60} cannot be registered as a {name}: it is not callable")
