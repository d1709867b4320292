"""Bub's own executor of tools, with a runtime that has no plugins."""

import asyncio

import pluggy
from bub.hooks.interception import AgentHooks
from bub.hooks.runtime import HookRuntime
from bub.hooks.specs import BubHookSpecs
from bub.tools import Tool, ToolExecutor
from receivers import WISHES, connect, remove, tell

from hookbus.adapters import bub


async def ask():
    manager = pluggy.PluginManager("bub")
    manager.add_hookspecs(BubHookSpecs)
    executor = ToolExecutor(hooks=AgentHooks(HookRuntime(manager)))
    execution = await executor.execute_async(
        [(Tool(name="remove", handler=remove), wish) for wish in WISHES]
    )
    return [str(result) for result in execution.tool_results]


bub.install()
connect("tool_call", "arguments")
tell(lambda: asyncio.run(ask()))
