"""A host in OpenClaw's style, with its tool calls in Python."""

import asyncio

from receivers import REQUESTS, connect, print_results, remove

from hookbus import HookBlocked, default_bus
from hookbus.adapters.openclaw import GLOBAL_POLICY, HookRunner, Registry, ToolCalls


async def run():
    runner = HookRunner(Registry(default_bus, strict=True), failure_policy=GLOBAL_POLICY)
    calls = ToolCalls(runner, {"remove": lambda params: remove(**params)})
    messages = []
    for request in REQUESTS:
        try:
            messages.append(await calls.call("remove", request))
        except HookBlocked as blocked:
            messages.append(str(blocked))
    return messages


connect("tool_call", "arguments")
print_results(lambda: asyncio.run(run()))
