"""A host in OpenClaw's style: its tool calls, in Python."""

import asyncio

from receivers import WISHES, connect, remove, tell

from hookbus import HookBlocked, default_bus
from hookbus.adapters.openclaw import GLOBAL_POLICY, HookRunner, Registry, ToolCalls


async def ask():
    runner = HookRunner(Registry(default_bus, strict=True), failure_policy=GLOBAL_POLICY)
    calls = ToolCalls(runner, {"remove": lambda params: remove(**params)})
    said = []
    for wish in WISHES:
        try:
            said.append(await calls.call("remove", wish))
        except HookBlocked as blocked:
            said.append(str(blocked))
    return said


connect("tool_call", "arguments")
tell(lambda: asyncio.run(ask()))
