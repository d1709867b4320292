"""The tool executor of Bub, with a runtime without plugins."""

import asyncio

import pluggy
from bub.hooks.interception import AgentHooks
from bub.hooks.runtime import HookRuntime
from bub.hooks.specs import BubHookSpecs
from bub.tools import Tool, ToolExecutor
from receivers import REQUESTS, connect, print_results, remove

from hookbus.adapters import bub


async def run():
    manager = pluggy.PluginManager("bub")
    manager.add_hookspecs(BubHookSpecs)
    executor = ToolExecutor(hooks=AgentHooks(HookRuntime(manager)))
    execution = await executor.execute_async(
        [(Tool(name="remove", handler=remove), request) for request in REQUESTS]
    )
    return [str(result) for result in execution.tool_results]


bub.install()
connect("tool_call", "arguments")
print_results(lambda: asyncio.run(run()))
