"""Runs one tool call with Agno's rules for the arguments that its hooks and the tool get."""

from __future__ import annotations

import asyncio
import inspect
from contextvars import ContextVar
from typing import Any

from hookbus import Bus, HookError, ReceiverError

from .._own_hooks import Hook, OwnHook, View, frozen
from ._ends import ToolEnds
from ._hookables import kind_of
from ._hooks import AroundHook, Registry, is_async_hook

SEEN: ContextVar[tuple[ToolCall, dict[str, Any], dict[str, Any]] | None] = ContextVar(
    "hookbus_agno_seen", default=None
)
"""The arguments that an outer hook passed to the next hook. Agno does not pass these arguments on
to the tool."""


async def _always_async() -> None:
    """A placeholder hook that makes Agno take its async path."""


class ToolCall(ToolEnds):
    """One call to a tool, as receivers see it in their argument `call`.

    Attributes:
        fc: Agno's FunctionCall.
        function: the tool.
        sender: the sender of the call's hooks: the tool, or an object in its place.
        agent, team, run_context: the owners of the tool, or None.
    """

    def __init__(self, agno: Any, fc: Any, *, is_async: bool, off_loop: bool) -> None:
        super().__init__(agno, fc, is_async=is_async)
        self._off_loop = off_loop
        self._hooks = tuple(fc.function.tool_hooks or ())
        self._start = 0
        self._first_args: dict[str, Any] | None = None
        self._given: Any = None
        self._placed: Any = ()
        self._parts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<call of {self.function.name}>"

    # -- as Agno runs it ---------------------------------------------------------------------------

    def view(self) -> Any:
        """Return the object that Agno's code runs in place of the FunctionCall. It calls the hooks
        and the tool through hookbus."""
        view = View(
            self.fc, function=self._bare_function(),
            _handle_pre_hook=self._start_sync, _handle_pre_hook_async=self._start_async,
            _handle_post_hook=self._end_sync, _handle_post_hook_async=self._end_async,
            _build_nested_execution_chain=self._chain,
            _build_nested_execution_chain_async=self._chain_async,
        )  # fmt: skip
        # The stored value must be the tool's own result, as for every tool with hooks.
        save = type(self.fc)._save_entrypoint_result
        object.__setattr__(
            view, "_save_entrypoint_result", lambda *args, **kwargs: save(view, *args, **kwargs)
        )
        return view

    def _bare_function(self) -> Any:
        marks = {"pre_hook": _always_async, "post_hook": _always_async} if self._is_async else {}
        return View(self.function, tool_hooks=[], **marks)

    def _chain(self, entrypoint_args: dict[str, Any], **parts: Any) -> Hook:
        self._parts = {"entrypoint_args": entrypoint_args, **parts}
        for hook in self._hooks:
            self.check_sync(hook)
        return self._dispatch

    async def _chain_async(self, entrypoint_args: dict[str, Any], **parts: Any) -> Hook:
        self._parts = {"entrypoint_args": entrypoint_args, **parts}
        return self._dispatch_async

    def _dispatch(self, name: str, func: Any, args: dict[str, Any]) -> Any:
        if self._is_answered(args):
            return self._answer
        try:
            return self.hooked("tool_call", args)
        except ReceiverError as error:
            steering = self._agno.control_flow_in(error)
            if steering is None:
                raise
        raise steering

    async def _dispatch_async(self, name: str, func: Any, args: dict[str, Any]) -> Any:
        if self._is_answered(args):
            return self._answer
        try:
            return await self.hooked("atool_call", args)
        except ReceiverError as error:
            steering = self._agno.control_flow_in(error)
            if steering is None:
                raise
        raise steering

    def hooked(self, hookable: str, arguments: dict[str, Any]) -> Any:
        """Call a hookable method of the hook `tool_call`."""
        agent, kind = self.team if self.agent is None else self.agent, kind_of(self.function)
        return self.sender.call(
            hookable, self.function.name, arguments, self.fc.call_id, kind, agent, self
        )

    def _is_answered(self, args: dict[str, Any]) -> bool:
        """Store the arguments, and return whether a `tool_start` receiver answered in place of the
        tool."""
        self._given = args
        if self._refusal is not None:
            raise self._refusal
        return not self._is_reached

    # -- the tool ----------------------------------------------------------------------------------

    def run(self, name: str, args: dict[str, Any]) -> Any:
        """Run the tool with these arguments, or return the result that Agno has cached for the same
        arguments."""
        bare = self._with_arguments(name, args)
        return self._agno.build(bare, **self._parts)(
            self.function.name, self.function.entrypoint, args
        )

    async def run_async(self, name: str, args: dict[str, Any]) -> Any:
        """Like `run`, but for a tool that may be async."""
        entrypoint = self.function.entrypoint
        bare = self._with_arguments(name, args)
        is_plain = not (
            inspect.iscoroutinefunction(entrypoint) or inspect.isasyncgenfunction(entrypoint)
        )
        if is_plain and self._off_loop:
            tool = self._agno.build(bare, **self._parts)
            return await asyncio.to_thread(tool, self.function.name, entrypoint, args)
        tool = await self._agno.build_async(bare, **self._parts)
        return await tool(self.function.name, entrypoint, args)

    def _with_arguments(self, name: str, args: dict[str, Any]) -> Any:
        if name != self.function.name:
            raise HookError(
                f"a receiver changed the name of the tool {self.function.name} to {name!r}; only "
                "the arguments of a tool call can be changed"
            )
        own: dict[str, Any] = {}
        if self.must_place(args):
            # Agno uses the FunctionCall to decide whether a cached result fits the call.
            self.fc.arguments = self._placed = args
            own = {"arguments": args}
        return View(self.fc, function=View(self.function, tool_hooks=[]), **own)

    def must_place(self, args: dict[str, Any]) -> bool:
        """Return whether these arguments must replace the arguments of the FunctionCall."""
        return args is not self._given

    # -- tool_hooks --------------------------------------------------------------------------------

    def ask_around(self, own: AroundHook, kwargs: Any, call_next: Hook) -> Any:
        """Call one of the tool's own hooks."""
        if own.index < self._start:
            return call_next()
        hook, args = self._hooks[own.index], kwargs["arguments"]
        if self._is_async:
            return self.ask_async(own, hook, args, call_next)
        return self.ask_sync(own, hook, args, call_next)

    def check_sync(self, hook: Hook) -> None:
        """Check a sync call's hook before any hook is called."""
        if inspect.iscoroutinefunction(hook):
            self._agno.log_warning(
                f"Cannot use async hooks with sync function calls. Skipping hook: {hook.__name__}"
            )

    def ask_sync(self, own: AroundHook, hook: Hook, args: dict[str, Any], call_next: Hook) -> Any:
        if self.is_left_out(hook):
            return call_next()
        before, came = frozen(args), []

        def next_func(**kwargs: Any) -> Any:
            came.append(self.go_in(own, hook, args, before, kwargs, call_next))
            return came[-1]

        return self.checked(
            hook, hook(**self.arguments_of(own, hook, next_func, self.seen(args))), came
        )

    async def ask_async(
        self, own: AroundHook, hook: Hook, args: dict[str, Any], call_next: Hook
    ) -> Any:
        before, came = frozen(args), []

        async def next_func(**kwargs: Any) -> Any:
            came.append(await self.go_in_async(own, hook, args, before, kwargs, call_next))
            return came[-1]

        if self._off_loop and not is_async_hook(hook) and not inspect.isasyncgenfunction(hook):
            result = await self._agno.in_thread(
                lambda next_one: hook(**self.arguments_of(own, hook, next_one, self.seen(args))),
                next_func,
            )
        else:
            result = hook(**self.arguments_of(own, hook, next_func, self.seen(args)))
        while inspect.isawaitable(result):
            result = await result
        return self.checked(hook, result, came)

    def is_left_out(self, hook: Hook) -> bool:
        """Return whether a sync call skips a hook."""
        return inspect.iscoroutinefunction(hook)

    def checked(self, hook: Hook, result: Any, came: list[Any]) -> Any:
        """Return the result of a hook. `came` holds the result that the next function returned to
        the hook."""
        return result

    def go_in(
        self, own: AroundHook, hook: Hook, args: dict[str, Any], before: Any,
        kwargs: dict[str, Any], call_next: Hook,
    ) -> Any:  # fmt: skip
        """Run the rest of the call inside a hook."""
        passed = self.passed(args, before, kwargs)
        if inspect.isgeneratorfunction(hook):
            return self._inside(own, kwargs).hooked("tool_call", passed)
        previous = SEEN.get()
        try:
            SEEN.set((self, passed, kwargs))
            return call_next(**({} if passed is args else {"arguments": passed}))
        finally:
            SEEN.set(previous)

    async def go_in_async(
        self, own: AroundHook, hook: Hook, args: dict[str, Any], before: Any,
        kwargs: dict[str, Any], call_next: Hook,
    ) -> Any:  # fmt: skip
        """Like `go_in`, but in an async call."""
        passed = self.passed(args, before, kwargs)
        if inspect.isgeneratorfunction(hook) or inspect.isasyncgenfunction(hook):
            return await self._inside(own, kwargs).hooked("atool_call", passed)
        previous = SEEN.get()
        try:
            SEEN.set((self, passed, kwargs))
            return await call_next(**({} if passed is args else {"arguments": passed}))
        finally:
            SEEN.set(previous)

    def passed(self, args: dict[str, Any], before: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments for the rest of the call, including in-place changes by the hook."""
        live: dict[str, Any] | None = self.fc.arguments
        if args is self._given and live is not args and live is not self._placed:
            # Nothing was passed, so the hook has its own dict, unless other code has set arguments
            # since then.
            return live if live else args
        return args if before == args else dict(args)

    def seen(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that a hook sees."""
        outer = SEEN.get()
        if outer is not None and outer[0] is self and outer[1] is args:
            return outer[2]
        return args if self._first_args is None else self._first_args

    def _inside(self, own: AroundHook, kwargs: dict[str, Any]) -> ToolCall:
        """Return the call for a generator hook, which runs the rest of the call later, when it is
        iterated."""
        inside: ToolCall = object.__new__(type(self))
        inside.__dict__.update(self.__dict__)
        inside._start, inside._first_args = own.index + 1, kwargs
        return inside

    def arguments_of(
        self, own: OwnHook, hook: Hook, next_func: Hook, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the keyword arguments for a hook, limited to the hook's parameters."""
        known = {
            "agent": self.agent, "team": self.team, "run_context": self.run_context,
            "name": self.function.name, "function_name": self.function.name, "function": next_func,
            "func": next_func, "function_call": next_func, "args": args, "arguments": args,
        }  # fmt: skip
        return self.asked_for(own, hook, known)


def connect(registry: Registry, function: Any, on_error: str | None) -> None:
    """Connect a tool's current hooks. `on_error` is the behavior if the tool's `pre_hook` fails."""
    registry.sync(function, "around_tool_call", function.tool_hooks or ())
    registry.sync(
        function, "pre_tool_start", () if function.pre_hook is None else (function.pre_hook,),
        on_error=on_error,
    )  # fmt: skip
    registry.sync(
        function, "pre_tool_end", () if function.post_hook is None else (function.post_hook,)
    )


def is_listened_to(bus: Bus, signals: list[Any], owner: Any) -> bool:
    """Return whether a call has receivers or listeners other than the owner's own hooks."""
    return bus._switchboard.is_observed or any(
        signal._has_shared or signal._has_own(owner) for signal in signals
    )
