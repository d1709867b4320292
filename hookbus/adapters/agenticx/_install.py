"""Installs the adapter: replaces functions of AgenticX, and later restores them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from hookbus import Bus, default_bus, instrument

from .._newer import Untested, patches_of
from .._patches import Patches, Uninstall, named_options
from .._vocabulary import hook_tool_call
from ._bus import BusHooks, replaced_triggers
from ._calls import (
    RuntimeTools,
    replaced_dispatch,
    replaced_execute,
    replaced_turns,
    tool_call,
    tool_call_async,
)  # fmt: skip
from ._core import CoreHooks, core_namespace
from ._legacy import legacy_namespace
from ._points import ASYNC_POINTS, SYNC_POINTS, Points, hook_event, hook_event_async
from ._runtime import POINTS, RuntimeHooks, replaced_runs, runtime_namespace
from ._strict import Strict

SUPPORTED: Final = ("0.6.5",)

_OF_EVENTS: Final = (*SYNC_POINTS, *ASYNC_POINTS, hook_event, hook_event_async)


@named_options
def install(
    bus: Bus = default_bus, *, strict: bool = False, untested: Untested = "check"
) -> Uninstall:
    """Run AgenticX's hooks, tool calls and model calls on hookbus. Call this function before other
    code imports the functions that run hooks.

    AgenticX's own hooks are `pre` receivers at these hooks: `tool_start` (`tool_name`, `args`,
    `call`), `tool_end` (`tool_name`, `output`, `call`), `llm_start` (`messages`, `call`) and
    `llm_end` (`response`, `call`). Their sender is the agent of an executor or the HookRegistry of
    a runtime. A runtime also has `agent_start` (`agent_id`, `user_input`, `call`), `agent_end`
    (`text`, `call`) and `compaction` (`count`, `summary`, `call`). Any other event triggered on
    AgenticX's event bus is `hook_event` (`key`, `event`, `call`). Tool calls and model calls
    are also hooked. `tool_call` covers all calls of all tools. It has the common arguments and also
    `call`. `llm_call` (`messages`) covers the model of an executor.

    Args:
        bus: the bus to declare the hooks on.
        strict: False keeps AgenticX's documented behavior for its own hooks. True applies the rules
            of hookbus: a before-hook that fails or returns an invalid answer blocks the call, and
            async hooks are awaited. Hooks of `core.hooks` and `hooks` run for every tool on
            every path, and the tool gets the arguments as changed by the hooks. After-hooks
            also run for failed calls, and a failing hook of a runtime does not end the run.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Returns:
        A function that restores AgenticX, attribute for attribute. A second call does nothing.

    Raises:
        HookError: if AgenticX is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("agenticx", "agenticx", SUPPORTED, untested, install) as patches:
        points = Points(bus, strict)
        patches.on_restore(points.registry.clear)
        core = CoreHooks(points, patches)
        extra = Strict(points, core) if strict else None
        hooks = BusHooks(points) if extra is None else BusHooks(points, extra.core_hooks)
        _replace_triggers(patches, points, hooks)
        _replace_core(patches, core)
        _replace_executor(patches, points, extra)
        _replace_runtime(patches, points, extra)
        if extra is not None:
            extra.replace(patches, hooks)
    return patches.restore


def _replace(patches: Patches, owner: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        patches.replace(owner, name, value)


def _replace_triggers(patches: Patches, points: Points, hooks: BusHooks) -> None:
    events = import_module("agenticx.hooks.registry").HookRegistry
    points.add(events, *_OF_EVENTS, patches=patches)
    _replace(patches, events, replaced_triggers(hooks, patches, events))


def _replace_core(patches: Patches, core: CoreHooks) -> None:
    for kind in ("llm", "tool"):
        module = import_module(f"agenticx.core.hooks.{kind}_hooks")
        for phase in ("before", "after"):
            name = f"execute_{phase}_{kind}_call_hooks"
            stock = getattr(module, name)
            hooks = getattr(module, f"_{phase}_{kind}_call_hooks")
            patches.replace_everywhere(
                module, name, _asking(patches, getattr(core, phase), kind, hooks, stock)
            )


def _asking(
    patches: Patches, ask: Callable[..., bool], kind: str, hooks: list[Any], stock: Any
) -> Callable[..., bool]:
    def execute(context: Any, agent_hooks: Any = None) -> bool:
        if patches.is_live:
            return ask(kind, hooks, context, agent_hooks)
        return bool(stock(context, agent_hooks))

    execute.__name__ = execute.__qualname__ = stock.__name__
    execute.__doc__ = stock.__doc__
    return execute


def _replace_executor(patches: Patches, points: Points, extra: Strict | None) -> None:
    points.add(import_module("agenticx.core.agent").Agent, *SYNC_POINTS, patches=patches)
    tools = import_module("agenticx.tools.executor")
    for function in (tool_call, tool_call_async):
        patches.replace(tools.ToolExecutor, function.__name__, staticmethod(function))
        patches.on_restore(hook_tool_call(tools.ToolExecutor, function.__name__, points.bus))
    _replace(
        patches,
        tools.ToolExecutor,
        replaced_execute(patches, tools.ToolExecutor, tools.ExecutionResult),
    )
    executor = import_module("agenticx.core.agent_executor").AgentExecutor
    ended = (lambda turn, error: None) if extra is None else extra.ended
    _replace(patches, executor, replaced_turns(patches, points, executor, ended))
    patches.on_restore(
        instrument(executor, {"_invoke_llm_with_auth_rotation": "llm_call"}, bus=points.bus)
    )


def _replace_runtime(patches: Patches, points: Points, extra: Strict | None) -> None:
    module = import_module("agenticx.runtime.hooks")
    registry = module.HookRegistry
    stock = SimpleNamespace(
        **{name: method for name, method in vars(registry).items() if name.startswith("run_")}
    )
    runtime = RuntimeHooks(
        points, module.HookOutcome, *(() if extra is None else (extra.of_runtime,))
    )
    points.add(registry, *POINTS, patches=patches)
    _replace(patches, registry, replaced_runs(runtime, patches, stock))
    hooked = import_module("agenticx.tools.executor").ToolExecutor.tool_call_async
    tools, executed = RuntimeTools(), _as_given if extra is None else extra.executed
    import_module("agenticx.runtime.agent_runtime")
    for module_name, name in (
        ("cli.agent_tools", "dispatch_tool_async"),
        ("runtime.meta_tools", "dispatch_meta_tool_async"),
    ):
        home = import_module(f"agenticx.{module_name}")
        patches.replace_everywhere(
            home, name, replaced_dispatch(patches, hooked, tools, getattr(home, name), executed)
        )


def _as_given(session: Any, name: str, args: dict[str, Any]) -> dict[str, Any]:
    return args


def namespaces(bus: Bus = default_bus, *, strict: bool = False) -> dict[str, dict[str, Any]]:
    """Return the contents of AgenticX's four hook modules, implemented on hookbus. AgenticX does
    not have to be installed.

    Each call returns separate namespaces, which share no hooks.
    The functions of `core.hooks.tool_hooks` that load policies from YAML are not included.

    Args:
        bus: the bus to declare the hooks on.
        strict: as in `install`.

    Returns:
        The public names of `core.hooks` under `"core"`, `hooks.llm_hooks` under `"llm"`,
        `hooks.tool_hooks` under `"tool"` and `runtime.hooks` under `"runtime"`.
    """
    points = Points(bus, strict)
    found = {
        "core": core_namespace(points),
        "llm": legacy_namespace(points, "llm"),
        "tool": legacy_namespace(points, "tool"),
        "runtime": runtime_namespace(points),
    }
    for names in found.values():
        for name, value in names.items():
            if isinstance(value, FunctionType):
                value.__name__ = value.__qualname__ = name
    return found
