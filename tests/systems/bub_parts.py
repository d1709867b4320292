"""What tests, examples and measurements of Bub need: plugins from functions, and a framework."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pluggy
from bub import BubFramework, hookimpl
from bub.hooks.interception import AgentHooks
from bub.hooks.runtime import HookRuntime
from bub.hooks.specs import BubHookSpecs
from bub.tools import Tool, ToolExecutor


class Plugin(SimpleNamespace):
    """A plugin that is like no other."""

    __eq__, __hash__ = object.__eq__, object.__hash__


def plugin(**functions: Any) -> Any:
    """Return a plugin that implements a hook with each function; a pair is a function and options
    of `hookimpl`."""
    found: dict[str, Any] = {}
    for hook, function in functions.items():
        function, options = function if isinstance(function, tuple) else (function, {})
        found[hook] = hookimpl(**options)(function)
    return Plugin(**found)


def runtime(**plugins: Any) -> Any:
    """Return a `HookRuntime` with these plugins, registered in this order; `.manager` is
    pluggy's."""
    manager = pluggy.PluginManager("bub")
    manager.add_hookspecs(BubHookSpecs)
    for name, each in plugins.items():
        manager.register(each, name=name)
    made = HookRuntime(manager)
    made.manager = manager
    return made


def agent_hooks(**plugins: Any) -> Any:
    return AgentHooks(runtime(**plugins))


def framework(**plugins: Any) -> BubFramework:
    """Return a framework with these plugins, and no builtin ones."""
    made = BubFramework(Path(tempfile.mkdtemp()) / "config.yml")
    for name, each in plugins.items():
        made.plugin_manager.register(each, name=name)
    return made


async def call_tool(
    hooks: Any, body: Callable[..., Any], arguments: dict[str, Any], context: Any = None
) -> Any:
    """Call a tool as Bub's agent loop does; return its ToolExecution."""
    tool = Tool(name="tool", handler=body)
    return await ToolExecutor(hooks=hooks).execute_async([(tool, arguments)], context=context)
