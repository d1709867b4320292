"""Runs AgenticX's event bus `hooks.registry` on hookbus, including the hooks that `hooks.llm_hooks`
and `hooks.tool_hooks` register there.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from hookbus import Block, HookBlocked

from .._own_hooks import Hook, title_of
from .._patches import Patches
from ._asks import LegacyAfter, LegacyBefore, Overdue, Subject, completed, verdict
from ._legacy import KINDS
from ._points import Call, Own, Points, hook_behind
from ._turns import Turn

LOG: Final = logging.getLogger("agenticx.hooks.registry")

TURN: ContextVar[Turn | None] = ContextVar("hookbus_agenticx_turn", default=None)
"""The model or tool call whose hooks an executor is calling."""


class Event:
    """An event for which a registry's handlers are being called."""

    def __init__(self, event: Any, stops: bool, strict: bool) -> None:
        self.event, self.stops, self._strict = event, stops, strict
        self.is_vetoed = False
        self.kind = KINDS.get(event.type)
        phases = {"before_call": "before", "after_call": "after"}
        self.phase = phases.get(event.action) if self.kind else None
        self.context: Any = None
        self.subject: Subject | None = None
        if self.kind is not None and self.phase is not None:
            classes = import_module(f"agenticx.hooks.{event.type}_hooks")
            context = event.context.get(f"{event.type}_context")
            if isinstance(
                context,
                getattr(
                    classes, "LLMCallHookContext" if event.type == "llm" else "ToolCallHookContext"
                ),
            ):
                self.context = context
                self.subject = Subject(
                    context, *(self.kind.before if self.phase == "before" else self.kind.after)
                )

    def warn(self, error: Exception) -> None:
        LOG.warning("Hook handler failed for %s:%s: %s", self.event.type, self.event.action, error)

    def ask_legacy(self, handler: Hook, kwargs: Mapping[str, Any]) -> Any:
        """Call a hook of `llm_hooks` or `tool_hooks` if the event is about a model or tool call."""
        if self.subject is None:
            return None
        ask = (LegacyBefore if self.phase == "before" else LegacyAfter)(
            self.subject, self.warn, strict=self._strict
        )
        answer = ask(hook_behind(handler), kwargs)
        if isinstance(answer, Block) and self.phase == "before" and not self.stops:
            self.is_vetoed = True
            return None
        return answer

    def ask(self, handler: Hook, kwargs: Mapping[str, Any]) -> Any:
        """Call an event handler for a sync call."""
        self._share(kwargs)
        try:
            return self._judge(handler, completed(self._awaitable(handler(self.event))), kwargs)
        except Overdue as error:
            self.warn(error)
            return self._judge(handler, False, kwargs)
        except Exception as error:
            return self._failed(handler, error)

    async def ask_async(self, handler: Hook, kwargs: Mapping[str, Any]) -> Any:
        """Call an event handler on an event loop."""
        self._share(kwargs)
        try:
            answer = self._awaitable(handler(self.event))
            return self._judge(
                handler, await answer if inspect.isawaitable(answer) else answer, kwargs
            )
        except Exception as error:
            return self._failed(handler, error)

    def _awaitable(self, answer: Any) -> Any:
        if not self._strict and not inspect.isawaitable(answer):
            raise TypeError(f"object {type(answer).__name__} can't be used in 'await' expression")
        return answer

    def _failed(self, handler: Hook, error: Exception) -> Any:
        self.warn(error)
        if self._strict and self.stops:
            return Block(f"{title_of(handler)} failed ({type(error).__name__})")
        raise error

    def _judge(self, handler: Hook, answer: Any, kwargs: Mapping[str, Any]) -> Any:
        is_gate = self._strict and self.stops
        stopped = Block("it returned False") if answer is False else None
        if is_gate:
            stopped = verdict(handler, answer)
        if stopped is None:
            return self._patch(kwargs)
        if not self.stops:
            self.is_vetoed = True
            return self._patch(kwargs)
        reason = str(self.event.context.get("block_reason") or "").strip()
        return Block(reason) if reason else stopped

    def _share(self, kwargs: Mapping[str, Any]) -> None:
        """Write the result, including changes by earlier receivers, into the event for the next
        handler."""
        if self.subject is not None:
            value = self.subject.put(kwargs)
            if self.phase == "after":
                self.event.context[self.subject.attribute] = value

    def _patch(self, kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.subject is None:
            return None
        before = kwargs[self.subject.argument]
        if self.phase == "before":
            return self.subject.patch(before)
        now = self.event.context.get(self.subject.attribute)
        return {self.subject.argument: now} if now is not before and isinstance(now, str) else None

    def take(self, value: Any) -> None:
        """Write the final value, including changes by all receivers, into the context or event."""
        if self.subject is None:
            return
        if self.phase == "after":
            self.event.context[self.subject.attribute] = value
        else:
            self.subject.put({self.subject.argument: value})


More = Callable[[Event, Turn | None], list[Own]]
"""Returns hooks to call before the hooks of the event bus."""


class BusHooks:
    """Calls the handlers of an event registry through hookbus.

    Events about model or tool calls run the hooks `llm_start`, `llm_end`, `tool_start` and
    `tool_end`. Their sender is the agent, or the registry if there is no agent. All other events
    run the hook `hook_event`, whose sender is the registry.
    """

    def __init__(self, points: Points, more: More = lambda event, turn: []) -> None:
        self._points, self._more = points, more

    def trigger(self, registry: Any, event: Any, stops: bool) -> bool:
        """Call all handlers of an event; return True if none of them vetoed it."""
        run = Event(event, stops, self._points.strict)
        owner, point, on_error, call, arguments = self._prepare(registry, run, is_async=False)
        try:
            answer = self._points.ask(owner, point, call, on_error, **arguments)
        except HookBlocked as blocked:
            return self._stopped(run, call, blocked)
        return self._done(run, call, answer)

    async def trigger_async(self, registry: Any, event: Any, stops: bool) -> bool:
        """Like `trigger`, but on an event loop."""
        run = Event(event, stops, self._points.strict)
        owner, point, on_error, call, arguments = self._prepare(registry, run, is_async=True)
        try:
            answer = await self._points.ask_async(
                owner, f"{point}_async", call, on_error, **arguments
            )
        except HookBlocked as blocked:
            return self._stopped(run, call, blocked)
        return self._done(run, call, answer)

    def _prepare(self, registry: Any, run: Event, is_async: bool) -> Any:
        event, subject = run.event, run.subject
        if run.kind is None or subject is None:
            call = Call(event, self._all(registry, run, is_async))
            return (
                registry, "hook_event", None, call,
                {"key": f"{event.type}:{event.action}", "event": event},
            )  # fmt: skip
        turn = TURN.get()
        if turn is not None and not turn.takes(event.type, run.phase, run.context):
            turn = None
        own = [
            *self._more(run, turn),
            *self.own(registry, run, is_async),
            *(turn.own(run) if turn is not None else ()),
        ]
        call = Call(run.context, own)
        arguments = {subject.argument: getattr(run.context, subject.attribute)}
        if event.type == "tool":
            arguments["tool_name"] = call.of_tool(run.context.tool_name).context.tool_name
        point = f"{event.type}_{'start' if run.phase == 'before' else 'end'}"
        owner = turn.agent if turn is not None and hasattr(type(turn.agent), point) else registry
        return (
            owner, point, self._points.on_start_error if run.phase == "before" else None, call,
            arguments,
        )  # fmt: skip

    def own(self, registry: Any, run: Event, is_async: bool) -> list[Own]:
        """Return the handlers for a model or tool call: first the handlers for its type, then the
        handlers for the exact event.
        """
        keys = (run.event.type, f"{run.event.type}:{run.event.action}")
        return [
            self._own(handler, run, is_async) for key in keys for handler in _current(registry, key)
        ]

    def _all(self, registry: Any, run: Event, is_async: bool) -> list[Own]:
        """Return all handlers of a registry.

        Handlers of other events are included, but are not called, so that the connections do not
        change.
        """
        keys = sorted(registry._handlers, key=lambda key: ":" in key)
        mine = (run.event.type, f"{run.event.type}:{run.event.action}")
        return [
            self._own(handler, run, is_async) if key in mine else Own(handler, _not_asked)
            for key in keys for handler in _current(registry, key)
        ]  # fmt: skip

    def _own(self, handler: Hook, run: Event, is_async: bool) -> Own:
        if hook_behind(handler) is not handler:
            return Own(handler, run.ask_legacy)
        return Own(handler, run.ask_async if is_async else run.ask)

    def _stopped(self, run: Event, call: Call, blocked: HookBlocked) -> bool:
        turn = TURN.get()
        if turn is not None and turn.context is call.context:
            turn.stop(run.phase, blocked)
        if run.phase == "after":
            run.take(str(blocked))
        return False

    def _done(self, run: Event, call: Call, answer: Any) -> bool:
        if not call.is_reached and run.phase != "after":
            return False
        value = call.value if call.is_reached else "" if answer is None else answer
        run.take(value)
        turn = TURN.get()
        if run.phase == "after" and turn is not None and turn.context is call.context:
            turn.finish(value, is_replaced=not call.is_reached)
        return not run.is_vetoed


def _not_asked(handler: Hook, kwargs: Mapping[str, Any]) -> None:
    """Do nothing, in place of a handler of other events."""


def _current(registry: Any, key: str) -> Sequence[Hook]:
    """Return a key's handlers, without handlers whose hook was unregistered or registered again."""
    handlers: list[Hook] = registry._handlers.get(key, [])
    module, phase = _LISTS.get(key, ("", ""))
    if not module:
        return list(handlers)
    home = import_module(f"agenticx.hooks.{module}_hooks")
    listed = getattr(home, f"_{phase}_{module}_call_hooks")
    kept: list[Hook] = []
    seen: list[Hook] = []
    for handler in reversed(handlers):
        hook = hook_behind(handler)
        if hook is handler or (hook in listed and hook not in seen):
            kept.append(handler)
            seen.append(hook)
    return kept[::-1]


_PHASES: Final = ("before", "after")
_LISTS: Final = {f"{kind}:{phase}_call": (kind, phase) for kind in KINDS for phase in _PHASES}


def replaced_triggers(
    bus: BusHooks, patches: Patches, registry: type[Any]
) -> dict[str, Callable[..., Any]]:
    """Return the methods of a registry that trigger events."""
    stock, stock_sync = registry.trigger, registry.trigger_sync

    @functools.wraps(stock)
    async def trigger(self: Any, event: Any, *, stop_on_false: bool = False) -> bool:
        if not patches.is_live:
            return bool(await stock(self, event, stop_on_false=stop_on_false))
        return await bus.trigger_async(self, event, stop_on_false)

    @functools.wraps(stock_sync)
    def trigger_sync(self: Any, event: Any, *, stop_on_false: bool = False) -> bool:
        if not patches.is_live:
            return bool(stock_sync(self, event, stop_on_false=stop_on_false))
        return bus.trigger(self, event, stop_on_false)

    return {"trigger": trigger, "trigger_sync": trigger_sync}
