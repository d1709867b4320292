"""The agent and the adapter for the tests of OpenClaw's defects."""

import pytest

from hookbus import Bus, hookable
from hookbus.adapters.openclaw import GLOBAL_POLICY, HookRunner, Registry, ToolCalls


@pytest.fixture
def Agent(bus):
    class Agent:
        def __init__(self):
            self.bodies = []

        @hookable("tool", bus=bus)
        async def tool(self, name, params):
            self.bodies.append(params)
            return f"{name} ran"

    return Agent


class Strict:
    """The adapter with `strict=True`: its registry, its runner, and one tool."""

    def __init__(self, approve=None):
        self.bus = Bus(values=True)
        self.registry = Registry(self.bus, strict=True)
        self.runner = HookRunner(self.registry, failure_policy=GLOBAL_POLICY)
        self.ran = []
        self.calls = ToolCalls(
            self.runner, {"exec": lambda params: self.ran.append(params) or "done"}, approve=approve
        )

    async def call(self, **params):
        return await self.calls.call("exec", params)


@pytest.fixture
def strict():
    return Strict()


def redact(event, ctx):
    return {"params": {**event["params"], "secret": "***"}}


def stamp(event, ctx):
    return {"params": {**event["params"], "stamp": 1}}


EVENT = {"toolName": "exec", "params": {"cmd": "ls", "secret": "4711"}}
