"""Runs AgenticX's `runtime.hooks` on hookbus. These hooks are objects with async methods, which a
runtime calls in order of priority."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hookbus import Block, HookBlocked

from .._own_hooks import title_of
from .._patches import Patches
from ._asks import withheld
from ._points import Ask, Call, Own, Points
from ._registration import add_unregistration


@dataclass
class HookOutcome:
    """A hook's verdict on a tool call."""

    blocked: bool = False
    reason: str = ""


class AgentHook:
    """The base class for hooks of a runtime. Subclasses override the methods that they need."""

    async def before_model(
        self, messages: Sequence[dict[str, Any]], session: Any
    ) -> Sequence[dict[str, Any]] | None:
        return None

    async def after_model(self, response: Any, session: Any) -> None:
        return None

    async def on_agent_start(self, session: Any, agent_id: str, user_input: str) -> None:
        return None

    async def before_tool_call(
        self, tool_name: str, arguments: dict[str, Any], session: Any
    ) -> HookOutcome | None:
        return None

    async def after_tool_call(self, tool_name: str, result: str, session: Any) -> str | None:
        return None

    async def on_compaction(self, compacted_count: int, summary: str, session: Any) -> None:
        return None

    async def on_agent_end(self, final_text: str, session: Any) -> None:
        return None


# -- the points ------------------------------------------------------------------------------------


async def llm_start(self: Any, messages: Any, call: Any) -> None:
    call.reach(messages)


async def llm_end(self: Any, response: Any, call: Any) -> None:
    call.reach(response)


async def tool_start(self: Any, tool_name: str, args: Any, call: Any) -> None:
    call.reach(args, tool_name)


async def tool_end(self: Any, tool_name: str, output: Any, call: Any) -> None:
    call.reach(output, tool_name)


async def agent_start(self: Any, agent_id: str, user_input: str, call: Any) -> None:
    call.reach(user_input)


async def agent_end(self: Any, text: str, call: Any) -> None:
    call.reach(text)


async def compaction(self: Any, count: int, summary: str, call: Any) -> None:
    call.reach(summary)


POINTS = (llm_start, llm_end, tool_start, tool_end, agent_start, agent_end, compaction)


Shared = Callable[[str, str, Any, Any], list[Own]]
"""Returns the hooks of AgenticX's other modules. It takes `"before"` or `"after"`, the tool's name,
the arguments or the result, and the session."""


class RuntimeHooks:
    """Calls the hooks of a runtime's registry through hookbus. The registry is the sender.

    Args:
        points: the hook points at which the registry's hooks are called.
        outcome: the class of the object that reports a blocked call to the caller.
        shared: returns other hooks, which are called first.
    """

    def __init__(
        self, points: Points, outcome: type[Any] = HookOutcome, shared: Shared = lambda *_: []
    ) -> None:
        self._points, self._outcome, self._shared = points, outcome, shared
        # As in AgenticX itself, an exception of a hook leaves the registry.
        self._on_error = None if points.strict else "raise"

    async def before_model(self, registry: Any, messages: Sequence[Any], session: Any) -> list[Any]:
        async def ask(hook: Any, kwargs: Mapping[str, Any]) -> Any:
            updated = await self._answer(hook, "before_model", kwargs["messages"], session)
            return None if updated is None else {"messages": list(updated)}

        call = Call(session, self._own(registry, ask))
        given = list(messages)
        answer = await self._points.ask_async(
            registry, "llm_start", call, self._on_error, messages=given
        )
        return list(call.value if call.is_reached else answer)

    async def after_model(self, registry: Any, response: Any, session: Any) -> None:
        await self._tell(
            registry, "llm_end", "after_model", ("response",), session, response=response
        )

    async def on_agent_start(
        self, registry: Any, session: Any, agent_id: str, user_input: str
    ) -> None:
        async def ask(hook: Any, kwargs: Mapping[str, Any]) -> None:
            await self._answer(
                hook, "on_agent_start", session, kwargs["agent_id"], kwargs["user_input"]
            )

        call = Call(session, self._own(registry, ask))
        arguments = {"agent_id": agent_id, "user_input": user_input}
        await self._points.ask_async(registry, "agent_start", call, self._on_error, **arguments)

    async def before_tool_call(
        self, registry: Any, tool_name: str, arguments: dict[str, Any], session: Any
    ) -> Any:
        said: list[Any] = []

        async def ask(hook: Any, kwargs: Mapping[str, Any]) -> Any:
            outcome = await self._answer(
                hook, "before_tool_call", tool_name, kwargs["args"], session
            )
            if self._points.strict and not (
                outcome is None or isinstance(outcome, (self._outcome, Block))
            ):
                raise TypeError(
                    f"{title_of(hook)} returned {type(outcome).__name__}; return "
                    f"{self._outcome.__name__} or None"
                )
            if outcome is None or isinstance(outcome, Block) or not outcome.blocked:
                return outcome if isinstance(outcome, Block) else None
            said.append(outcome)
            return Block(outcome.reason or "the hook gave no reason")

        shared = self._shared("before", tool_name, arguments, session)
        call = Call(session, [*shared, *self._own(registry, ask)]).of_tool(tool_name)
        on_error = self._points.on_start_error or self._on_error
        try:
            answer = await self._points.ask_async(
                registry, "tool_start", call, on_error, tool_name=tool_name, args=arguments
            )
        except HookBlocked as blocked:
            reason = str(blocked) if call.block is None else str(call.block.reason)
            return said[0] if said else self._outcome(blocked=True, reason=reason)
        if not call.is_reached:
            return self._outcome(blocked=True, reason=str(answer))
        if call.value is not arguments:
            # The runtime shows the same dict object that it passed.
            arguments.clear()
            arguments.update(call.value)
        return self._outcome(blocked=False, reason="")

    async def after_tool_call(
        self, registry: Any, tool_name: str, result: Any, session: Any
    ) -> Any:
        async def ask(hook: Any, kwargs: Mapping[str, Any]) -> Any:
            updated = await self._answer(
                hook, "after_tool_call", tool_name, kwargs["output"], session
            )
            stopped = withheld(hook, updated) if self._points.strict else None
            return stopped or ({"output": updated} if isinstance(updated, str) else None)

        shared = self._shared("after", tool_name, result, session)
        call = Call(session, [*shared, *self._own(registry, ask)]).of_tool(tool_name)
        try:
            answer = await self._points.ask_async(
                registry, "tool_end", call, self._on_error, tool_name=tool_name, output=result
            )
        except HookBlocked as blocked:
            return str(blocked)
        return call.value if call.is_reached else answer

    async def on_compaction(
        self, registry: Any, compacted_count: int, summary: str, session: Any
    ) -> None:
        names = ("count", "summary")
        await self._tell(
            registry, "compaction", "on_compaction", names, session, count=compacted_count,
            summary=summary,
        )  # fmt: skip

    async def on_agent_end(self, registry: Any, final_text: str, session: Any) -> None:
        await self._tell(registry, "agent_end", "on_agent_end", ("text",), session, text=final_text)

    async def _tell(
        self, registry: Any, point: str, method: str, names: Sequence[str], session: Any,
        **arguments: Any,
    ) -> None:  # fmt: skip
        async def ask(hook: Any, kwargs: Mapping[str, Any]) -> None:
            await self._answer(hook, method, *(kwargs[name] for name in names), session)

        call = Call(session, self._own(registry, ask))
        await self._points.ask_async(registry, point, call, self._on_error, **arguments)

    async def _answer(self, hook: Any, name: str, *arguments: Any) -> Any:
        """Return the answer of a hook. With `strict=True`, a hook may lack methods, and its methods
        may be sync."""
        if not self._points.strict:
            return await getattr(hook, name)(*arguments)
        method = getattr(hook, name, None)
        answer = None if method is None else method(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    def _own(self, registry: Any, ask: Ask) -> list[Own]:
        return [Own(hook, ask) for _, hook in registry._entries]


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "run_before_model": RuntimeHooks.before_model, "run_after_model": RuntimeHooks.after_model,
    "run_on_agent_start": RuntimeHooks.on_agent_start,
    "run_before_tool_call": RuntimeHooks.before_tool_call,
    "run_after_tool_call": RuntimeHooks.after_tool_call,
    "run_on_compaction": RuntimeHooks.on_compaction, "run_on_agent_end": RuntimeHooks.on_agent_end,
}  # fmt: skip


def replaced_runs(
    runtime: RuntimeHooks, patches: Patches | None = None, stock: Any = None
) -> dict[str, Callable[..., Any]]:
    """Return the methods that call a registry's hooks. If `patches` is None, the registry class has
    no original methods."""

    def replaced(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if patches is not None and not patches.is_live:
                return await getattr(stock, name)(self, *args, **kwargs)
            return await method(runtime, self, *args, **kwargs)

        run.__name__ = run.__qualname__ = name
        return run

    return {name: replaced(name, method) for name, method in _METHODS.items()}


def runtime_namespace(points: Points) -> dict[str, Any]:
    """Return replacements for the public names of `agenticx.runtime.hooks`, with their own registry
    class."""

    class HookRegistry:
        """The hooks of a runtime, by descending priority and then in the order of registration."""

        def __init__(self) -> None:
            self._entries: list[tuple[int, Any]] = []

        def register(self, hook: Any, *, priority: int = 0) -> None:
            """Add a hook. A hook that is added twice is called twice."""
            self._entries.append((priority, hook))
            self._entries.sort(key=lambda entry: entry[0], reverse=True)

        def has_hooks(self) -> bool:
            """Return whether there are any hooks."""
            return bool(self._entries)

    points.add(HookRegistry, *POINTS)
    for name, run in replaced_runs(RuntimeHooks(points)).items():
        setattr(HookRegistry, name, run)
    if points.strict:
        add_unregistration(HookRegistry, setattr)
    return {"HookOutcome": HookOutcome, "AgentHook": AgentHook, "HookRegistry": HookRegistry}
