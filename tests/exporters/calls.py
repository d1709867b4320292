"""Calls for the tests of exporters: nested, failing, blocked, cancelled, streaming."""

import asyncio

import pytest

from hookbus import Block, HookBlocked, Replace, hookable


class Tool:
    def __init__(self, name):
        self.name = name


def hooks_on(bus):
    """Return the hooks of the vocabulary as a small agent has them, and two more."""

    class Hooks:
        @hookable("agent_run", bus=bus, labels=("agent",))
        def run(self, agent, input):
            self.ask("m-1", [input], {}, agent)
            return self.call("search", {"q": input}, "c-1", "function", None, agent)

        @hookable("model_call", bus=bus, labels=("model", "caller"))
        def ask(self, model, messages, options, caller):
            return {"text": "hi", "usage": {"input_tokens": 7, "output_tokens": 3}}

        @hookable("tool_call", bus=bus, labels=("name", "call_id", "kind", "caller"))
        def call(self, name, arguments, call_id, kind, tool, caller):
            if name == "breaks":
                raise LookupError("SECRET")
            return "found"

        @hookable("model_stream", bus=bus, labels=("model", "caller"))
        def stream(self, model, messages, options, caller):
            yield "a"
            self.call("inner", {}, None, "mcp", None, None)
            yield "b"

        @hookable("waits", bus=bus)
        async def waits(self, seconds):
            await asyncio.sleep(seconds)

        @hookable("gathers", bus=bus)
        async def gathers(self):
            await asyncio.gather(self.waits(0), self.waits(0.001))
            await asyncio.to_thread(self.call, "threaded", {}, None, None, None, None)

    return Hooks()


def guarded(bus):
    """Connect a guard, one in shadow, a modifier, and an observer that fails."""
    pre = bus.signal("pre_tool_call")

    @pre.connect_via(role="guard", name="no_leak")
    def no_leak(_, name):
        return Block("it is outside", code="outside") if name == "leak" else None

    @pre.connect_via(role="guard", name="shadow", shadow=True)
    def shadow(_, name):
        return Block("it might be") if name == "search" else None

    @pre.connect_via(name="adds")
    def adds(_, arguments):
        return {"arguments": {**arguments, "n": 1}}

    @pre.connect_via(role="observe", name="archive")
    def archive(_):
        raise OSError("disk SECRET")


def all_ways(bus):
    """Make a call of every way there is to end."""
    hooks = hooks_on(bus)
    guarded(bus)
    hooks.run(Tool("ada"), "x")
    with pytest.raises(LookupError):
        hooks.call("breaks", {}, None, None, None, None)
    with pytest.raises(HookBlocked):
        hooks.call("leak", {}, None, None, None, None)
    with bus.signal("pre_tool_call").connected_to(lambda _: Replace("instead")):
        hooks.call("replaced", {}, None, None, None, None)
    list(hooks.stream("m-1", [], {}, None))
    left = hooks.stream("m-2", [], {}, None)
    next(left)
    left.close()

    async def cancelled():
        task = asyncio.create_task(hooks.waits(60))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await hooks.gathers()

    asyncio.run(cancelled())
