"""The agent for the tests of AgenticX's defects."""

import pytest

from hookbus import Block, hookable


@pytest.fixture
def agent(bus):
    class Agent:
        def __init__(self):
            self.ran = []

        @hookable("tool", bus=bus)
        def tool(self, name, args):
            self.ran.append((name, dict(args)))
            if name == "broken":
                raise LookupError("no such file")
            return args.get("result", f"{name} done")

        @hookable("atool", bus=bus)
        async def atool(self, name, args):
            self.ran.append((name, dict(args)))
            return f"{name} done"

    return Agent()


def deny(agent, name):
    return Block("not today")
