"""Installs the adapter: replaces functions of Agno, and later restores them."""

from __future__ import annotations

import asyncio
import functools
import threading
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, ReceiverError, default_bus

from .._newer import Untested, patches_of
from .._own_hooks import OwnHook, View
from .._patches import Patches, Uninstall, named_options
from ._calls import ToolCall, connect, is_listened_to
from ._checks import replace_registration
from ._hookables import RUNS, TOOLS, StandIn, make_hookable
from ._hooks import Registry, is_async_hook
from ._runs import replace_runs
from ._strict import StrictToolCall, merge_scopes

SUPPORTED: Final = ("2.9.0", "3.1.10")

_PHASES: Final = ("pre", "around", "item", "post", "error", "finally")


@named_options
def install(
    bus: Bus = default_bus, *, strict: bool = False, untested: Untested = "check"
) -> Uninstall:
    """Hook Agno's tools, agents and teams.

    The sender of a tool's hooks is its `Function`. The hook `tool_start`, with the argument
    `call`, runs `pre_hook` as a `pre` receiver. The hook `tool_call`, which has the common
    arguments and also `call`, runs `tool_hooks` as `around` receivers. The hook `tool_end`, with
    the argument `call`, runs `post_hook` as a `pre` receiver. The sender of a run's hooks is the
    agent or team. The hooks `run_input` and `run_output`, which yield Agno's events, run
    `pre_hooks` and `post_hooks` as `around` receivers.

    Args:
        bus: the bus to declare the hooks on.
        strict: False keeps Agno's documented behavior for its own hooks. True applies the rules of
            hookbus to these hooks. The tool gets the arguments that a hook passes to the next
            function. Async hooks are awaited or rejected. A failing `pre_hook` stops the call, and
            a failing hook of a run stops the run. Hooks of an agent and of its tools are merged. A
            hook with a parameter that Agno does not pass is rejected.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Returns:
        A function that restores Agno, attribute for attribute. A second call does nothing.

    Raises:
        HookError: if Agno is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("agno", "agno", SUPPORTED, untested, install) as patches:
        adapter = _Adapter(bus, strict, patches)
        patches.on_restore(adapter.registry.clear)
        make_hookable(patches, bus, StandIn, TOOLS + RUNS)
        _replace_tools(patches, bus, adapter)
        for name in ("agent", "team"):
            owner = getattr(import_module(f"agno.{name}"), name.title())
            make_hookable(patches, bus, owner, RUNS)
            adapter.watch_runs(owner, f"initialize_{name}")
            patches.replace(owner, "__init__", adapter.making(owner.__init__, adapter.connect_runs))
        replace_runs(patches, adapter.registry, strict=strict)
        if strict:
            merge_scopes(patches, adapter.module.Function)
            replace_registration(patches)
    return patches.restore


def _replace_tools(patches: Patches, bus: Bus, adapter: _Adapter) -> None:
    function_class, call_class = adapter.module.Function, adapter.module.FunctionCall
    make_hookable(patches, bus, function_class, TOOLS)
    made = adapter.making(function_class.__init__, adapter.connect_tool)
    patches.replace(function_class, "__init__", made)
    for a_if_async, make in (("", adapter.executing), ("a", adapter.executing_async)):
        name = f"{a_if_async}execute"
        name = f"_{name}" if hasattr(call_class, "_execute") else name
        patches.replace(call_class, name, make(getattr(call_class, name)))
    model_class = import_module("agno.models.base").Model
    running = adapter.running(model_class.arun_function_call)
    patches.replace(model_class, "arun_function_call", running)


class _Adapter:
    """The replacements in Agno's classes while it runs on hookbus. Calls use this object to call
    Agno's functions."""

    def __init__(self, bus: Bus, strict: bool, patches: Patches) -> None:
        self._bus, self._strict, self._patches = bus, strict, patches
        self.module = import_module("agno.tools.function")
        self.registry = Registry(bus)
        call_class = self.module.FunctionCall
        self.build = call_class._build_nested_execution_chain
        self.build_async = call_class._build_nested_execution_chain_async
        self.log_warning, self.log_exception = self.module.log_warning, self.module.log_exception
        self.control_flow = (self.module.AgentRunException, self.module.RunCancelledException)
        self._signals = [
            bus.signal(f"{phase}_{hook}")
            for hook in ("tool_call", "tool_start", "tool_end")
            for phase in _PHASES
        ]

    # -- tools -------------------------------------------------------------------------------------

    def is_hooked(self, function: Any) -> bool:
        """Return whether a tool has hooks, receivers or listeners."""
        if not self._patches.is_live:
            return False
        return _has_hooks(function) or is_listened_to(self._bus, self._signals, function)

    def connect_tool(self, function: Any) -> None:
        """Connect the hooks of a tool, if it has any."""
        if _has_hooks(function):
            connect(self.registry, function, "block" if self._strict else None)

    def must_await(self, function: Any) -> bool:
        """Return whether an async run must await a tool call instead of running the whole call in a
        thread."""
        if self._strict:
            return True
        signals = (
            signal for signal in self._signals if signal._has_shared or signal._has_own(function)
        )
        return any(
            is_async_hook(each)
            for signal in signals
            for each in signal.receivers_for(function)
            if not isinstance(each, OwnHook)
        )

    def begin(self, fc: Any, **how: bool) -> ToolCall:
        call = (StrictToolCall if self._strict else ToolCall)(self, fc, **how)
        self.connect_tool(call.sender.owner)
        return call

    def executing(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        def execute(fc: Any) -> Any:
            if fc.function.entrypoint is None or not self.is_hooked(fc.function):
                return stock(fc)
            call = self.begin(fc, is_async=False, off_loop=False)
            return call.outcome(stock(call.view()))

        return execute

    def executing_async(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        async def aexecute(fc: Any) -> Any:
            if fc.function.entrypoint is None or not self.is_hooked(fc.function):
                return await stock(fc)
            call = self.begin(fc, is_async=True, off_loop=self.must_await(fc.function))
            return call.outcome(await stock(call.view()))

        return aexecute

    def running(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        async def arun_function_call(model: Any, function_call: Any) -> Any:
            function = function_call.function
            # An object that is not a FunctionCall runs its own way.
            is_ours = issubclass(type(function_call), self.module.FunctionCall) and self.is_hooked(
                function
            )
            if not is_ours or not self.must_await(function):
                return await stock(model, function_call)
            # Agno looks for an async hook to know whether it must await.
            seen = View(function_call, function=View(function, tool_hooks=[_awaited]))
            success, timer, _, result = await stock(model, seen)
            return success, timer, function_call, result

        return arun_function_call

    def making(
        self, stock: Callable[..., Any], connect: Callable[[Any], object]
    ) -> Callable[..., Any]:
        """Return an `__init__` that also connects the hooks of the new object."""

        @functools.wraps(stock)
        def __init__(made: Any, /, *args: Any, **kwargs: Any) -> None:
            stock(made, *args, **kwargs)
            if self._patches.is_live:
                connect(made)

        return __init__

    def control_flow_in(self, error: BaseException) -> BaseException | None:
        """Return the exception with which a receiver controls the run, if `on_error="raise"` passed
        it on."""
        cause = error.__cause__ if isinstance(error, ReceiverError) else None
        return cause if isinstance(cause, self.control_flow) else None

    async def in_thread(self, run: Callable[..., Any], next_func: Callable[..., Any]) -> Any:
        """Run an async call's sync hook in a thread. In this thread, the next function returns a
        value instead of a coroutine."""
        loop, home = asyncio.get_running_loop(), threading.get_ident()
        begun: list[Any] = []

        def next_one(**kwargs: Any) -> Any:
            if threading.get_ident() == home:
                return next_func(**kwargs)
            begun.append(asyncio.run_coroutine_threadsafe(next_func(**kwargs), loop))
            return begun[-1].result()

        try:
            return await asyncio.to_thread(run, next_one)
        finally:
            for future in begun:
                future.cancel()

    # -- runs --------------------------------------------------------------------------------------

    def connect_runs(self, owner: Any) -> None:
        """Connect the current hooks of an agent or team."""
        self.registry.sync(owner, "around_run_input", owner.pre_hooks or ())
        self.registry.sync(owner, "around_run_output", owner.post_hooks or ())

    def watch_runs(self, cls: Any, method: str) -> None:
        """Run receivers also for agents and teams without hooks of their own. Agno calls no hooks
        if the list of hooks is None, so this method sets an empty list."""
        stock = getattr(cls, method)
        signals = {f"{phase}_hooks": [self._bus.signal(f"{each}_{hook}") for each in _PHASES]
                   for hook, phase in (("run_input", "pre"), ("run_output", "post"))}  # fmt: skip
        filled: list[tuple[weakref.ref[Any], str]] = []

        def initialize(owner: Any, *args: Any, **kwargs: Any) -> Any:
            for attribute, listened in signals.items():
                if (
                    self._patches.is_live
                    and getattr(owner, attribute, self) is None
                    and is_listened_to(self._bus, listened, owner)
                ):
                    setattr(owner, attribute, [])
                    filled.append((weakref.ref(owner), attribute))
            return stock(owner, *args, **kwargs)

        def empty() -> None:
            for reference, attribute in filled:
                if getattr(reference(), attribute, None) == []:
                    setattr(reference(), attribute, None)

        self._patches.replace(cls, method, initialize)
        self._patches.on_restore(empty)


def _has_hooks(function: Any) -> bool:
    return not (function.tool_hooks is function.pre_hook is function.post_hook is None)


async def _awaited() -> None:
    """A placeholder for an async hook."""
