"""Implements `strict=True` for AgenticX. The same hooks run for every tool call, and the tool gets
the arguments that these hooks changed."""

from __future__ import annotations

import functools
import weakref
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from .._own_hooks import frozen, title_of
from .._patches import Patches
from ._bus import TURN, BusHooks, Event
from ._core import CoreHooks, registration
from ._points import Own, Points
from ._registration import add_unregistration, checking
from ._turns import Turn


class _Begun(NamedTuple):
    """A tool call of a runtime whose before-hooks were called."""

    session: Callable[[], Any]
    name: str
    before: Any
    args: dict[str, Any]
    context: Any


class Strict:
    """Implements the differences between `strict=True` and AgenticX's documented behavior."""

    def __init__(self, points: Points, core: CoreHooks) -> None:
        self._points, self._core = points, core
        self._bus: BusHooks
        # Calls that a runtime abandons stay in here until there are too many.
        self._begun: deque[_Begun] = deque(maxlen=1024)

    # -- one set of hooks --------------------------------------------------------------------------

    def core_hooks(self, run: Event, turn: Turn | None) -> list[Own]:
        """Return the hooks of `core.hooks` for a call that triggers an event on AgenticX's event
        bus."""
        kind, phase = run.event.type, run.phase
        home = import_module(f"agenticx.core.hooks.{kind}_hooks")
        hooks = getattr(home, f"_{phase}_{kind}_call_hooks")
        context = vars(run.context).get("_core_context") or _core_context(kind, run.context)
        run.context._core_context = context
        if phase == "before":
            return self._core.own_before(kind, hooks, context)
        context.error = getattr(run.context, "error", None)
        if kind == "tool":
            context.success = context.error is None
        return self._core.own_after(kind, hooks, context)

    def of_runtime(self, phase: str, tool_name: str, value: Any, session: Any) -> list[Own]:
        """Return the hooks of `core.hooks` and of the event bus for a tool call of a runtime."""
        hooks = import_module("agenticx.hooks")
        if phase == "before":
            context = hooks.ToolCallHookContext(
                tool_name=tool_name, tool_input=value, agent_id="meta"
            )
            self._begun.append(_Begun(_held(session), tool_name, frozen(value), value, context))
            more = {"tool_name": tool_name, "tool_input": value}
            if tool_name == "bash_exec":
                more["command"] = str(value.get("command", ""))
        else:
            begun = self._take(session, tool_name)
            made = hooks.ToolCallHookContext(tool_name=tool_name, tool_input={}, agent_id="meta")
            context = begun.context if begun else made
            more = {"tool_name": tool_name, "tool_result": value}
        event = _event(
            f"{phase}_call", context, more, str(getattr(session, "_session_id", None) or "")
        )
        run = Event(event, phase == "before", strict=True)
        registry = hooks.get_global_hook_registry()
        return [*self.core_hooks(run, None), *self._bus.own(registry, run, is_async=True)]

    def executed(self, session: Any, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a runtime's call, including changes by hooks. AgenticX itself
        only displays such changes."""
        begun = self._find(session, name, lambda each: each.before == args)
        return dict(args if begun is None else begun.args)

    def _take(self, session: Any, name: str) -> _Begun | None:
        begun = self._find(session, name, lambda each: True)
        if begun is not None:
            self._begun.remove(begun)
        return begun

    def _find(self, session: Any, name: str, fits: Callable[[_Begun], bool]) -> _Begun | None:
        mine = (
            each
            for each in reversed(self._begun)
            if each.name == name and each.session() is session
        )
        return next((each for each in mine if fits(each)), None)

    # -- after-hooks of what failed ----------------------------------------------------------------

    def ended(self, turn: Turn, error: Exception) -> None:
        """Call the after-hooks of a failed call. The result is None, and the context contains the
        `error`."""
        self._tell(turn.kind, turn.context, error)

    def _tell(self, kind: str, context: Any, error: Exception) -> None:
        context.error, context.success = error, False
        event = _event("after_call", context, {}, "", kind)
        try:
            _registry().trigger_sync(event)
        except Exception as failure:
            error.add_note(f"an after-hook of this call also failed: {type(failure).__name__}")

    # -- what is replaced --------------------------------------------------------------------------

    def replace(self, patches: Patches, bus: BusHooks) -> None:
        """Install the strict behavior in AgenticX."""
        self._bus = bus
        for kind in ("llm", "tool"):
            self._replace_registration(patches, kind)
        _replace_clear(patches)
        runtime = import_module("agenticx.runtime.hooks")
        add_unregistration(runtime.HookRegistry, patches.replace)
        bridge = import_module(
            "agenticx.runtime.hooks.legacy_event_bridge_hook"
        ).LegacyEventBridgeHook
        for name in ("before_tool_call", "after_tool_call"):
            # The runtime's own registry calls the hooks of the bus.
            patches.replace(bridge, name, vars(runtime.AgentHook)[name])
        tools = import_module("agenticx.tools.executor")
        for name in ("execute", "aexecute"):
            make = self._executing_async if name == "aexecute" else self._executing
            patches.replace(
                tools.ToolExecutor,
                name,
                make(patches, getattr(tools.ToolExecutor, name), tools.ExecutionResult),
            )
        allowlist = import_module("agenticx.tools.guardrails.builtin").AllowlistProvider
        patches.replace(allowlist, "__init__", _allowing(allowlist.__init__))

    def _replace_registration(self, patches: Patches, kind: str) -> None:
        core = import_module(f"agenticx.core.hooks.{kind}_hooks")
        bus = import_module(f"agenticx.hooks.{kind}_hooks")
        phases = ("before", "after")
        lists = {phase: getattr(core, f"_{phase}_{kind}_call_hooks") for phase in phases}
        for phase, hooks in lists.items():
            for name, function in registration(f"{phase}_{kind}_call_hook", hooks).items():
                patches.replace_everywhere(core, name, function)
            name = f"register_{phase}_{kind}_call_hook"
            patches.replace_everywhere(
                bus, name, checking(getattr(bus, name), f"{phase}_{kind}_call_hook")
            )

        def get_registered() -> dict[str, list[str]]:
            return {phase: [title_of(hook) for hook in hooks] for phase, hooks in lists.items()}

        patches.replace_everywhere(core, f"get_registered_{kind}_hooks", get_registered)

    def _executing(
        self, patches: Patches, inner: Callable[..., Any], make: Callable[..., Any]
    ) -> Callable[..., Any]:
        @functools.wraps(inner)
        def execute(
            executor: Any, tool: Any, agent_id: Any = None, task_id: Any = None, **kwargs: Any
        ) -> Any:
            if not patches.is_live or _is_of_turn():
                return inner(executor, tool, agent_id, task_id, **kwargs)
            context = _bus_context(tool, kwargs, agent_id, task_id)
            if not _registry().trigger_sync(
                _event("before_call", context, {}, ""), stop_on_false=True
            ):
                return make(tool_name=tool.name, success=False, error=_blocked(tool))
            try:
                result = inner(executor, tool, agent_id, task_id, **context.tool_input)
            except Exception as error:
                self._tell("tool", context, error)
                raise
            event = _after(context, result)
            _registry().trigger_sync(event)
            return _changed(event, result)

        return execute

    def _executing_async(
        self, patches: Patches, inner: Callable[..., Any], make: Callable[..., Any]
    ) -> Callable[..., Any]:
        @functools.wraps(inner)
        async def aexecute(
            executor: Any, tool: Any, agent_id: Any = None, task_id: Any = None, **kwargs: Any
        ) -> Any:
            if not patches.is_live or _is_of_turn():
                return await inner(executor, tool, agent_id, task_id, **kwargs)
            context = _bus_context(tool, kwargs, agent_id, task_id)
            if not await _registry().trigger(
                _event("before_call", context, {}, ""), stop_on_false=True
            ):
                return make(tool_name=tool.name, success=False, error=_blocked(tool))
            try:
                result = await inner(executor, tool, agent_id, task_id, **context.tool_input)
            except Exception as error:
                self._tell("tool", context, error)
                raise
            event = _after(context, result)
            await _registry().trigger(event)
            return _changed(event, result)

        return aexecute


def _core_context(kind: str, context: Any) -> Any:
    core = import_module("agenticx.core.hooks")
    who = {"agent_id": context.agent_id or "", "task_id": context.task_id}
    if kind == "tool":
        return core.ToolCallHookContext(
            **who, tool_name=context.tool_name, tool_args=context.tool_input
        )
    return core.LLMCallHookContext(
        **who, messages=context.messages, model=context.model_name, iteration=context.iterations
    )


def _bus_context(tool: Any, kwargs: dict[str, Any], agent_id: Any, task_id: Any) -> Any:
    make = import_module("agenticx.hooks.tool_hooks").ToolCallHookContext
    return make(
        tool_name=tool.name, tool_input=kwargs, tool=tool, agent_id=agent_id, task_id=task_id
    )


def _event(
    action: str, context: Any, more: dict[str, Any], session_key: str, kind: str = "tool"
) -> Any:
    make = import_module("agenticx.hooks").HookEvent
    known = {f"{kind}_context": context, **more}
    return make(
        type=kind, action=action, agent_id=context.agent_id or "", task_id=context.task_id,
        session_key=session_key, context=known,
    )  # fmt: skip


def _registry() -> Any:
    return import_module("agenticx.hooks.registry").get_global_hook_registry()


def _is_of_turn() -> bool:
    """Return whether an executor has already called the hooks for the current tool call."""
    turn = TURN.get()
    return turn is not None and turn.is_first_execution()


def _blocked(tool: Any) -> ValueError:
    return ValueError(f"Tool call '{tool.name}' blocked by hook")


def _after(context: Any, result: Any) -> Any:
    context.error, context.success = result.error, result.success
    if result.success:
        context.tool_result = "" if result.result is None else str(result.result)
    return _event("after_call", context, {"tool_result": context.tool_result}, "")


def _changed(event: Any, result: Any) -> Any:
    now = event.context["tool_result"]
    given = "" if result.result is None else str(result.result)
    if result.success and now != given:
        result.result = now
    return result


def _held(session: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(session)
    except TypeError:
        return lambda: session


def _replace_clear(patches: Patches) -> None:
    registry = import_module("agenticx.hooks.registry").HookRegistry
    loader = import_module("agenticx.hooks.loader")
    stock = registry.clear

    @functools.wraps(stock)
    def clear(self: Any) -> None:
        stock(self)
        if self is _registry():
            loader._LOADED_HOOK_KEYS.clear()  # so that they can be loaded again

    patches.replace(registry, "clear", clear)


def _allowing(stock: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(stock)
    def __init__(
        self: Any, *, allowed_tools: list[str] | None = None, denied_tools: list[str] | None = None
    ) -> None:
        stock(self, allowed_tools=allowed_tools, denied_tools=denied_tools)
        if allowed_tools is not None:
            self._allowed = set(allowed_tools)

    return __init__
