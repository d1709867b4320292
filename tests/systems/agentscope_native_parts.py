"""The agent for the tests with AgentScope's own hooks."""

import pytest

from hookbus import hookable


@pytest.fixture
def Agent(bus):
    class Agent:
        def __init__(self):
            self.bodies, self.printed = [], []

        @hookable("reply", bus=bus)
        async def reply(self, msg, temperature=0.7):
            self.bodies.append((msg, temperature))
            return f"re: {msg}"

        @hookable("print", bus=bus)
        async def print(self, msg, last=True):
            self.printed.append((msg, last))

        @hookable("observe", bus=bus)
        async def observe(self, msg):
            self.bodies.append(msg)

        @hookable("reasoning", bus=bus)
        async def _reasoning(self, tool_choice=None):
            return "thought"

        @hookable("acting", bus=bus)
        async def _acting(self, tool_call):
            return f"ran {tool_call}"

    return Agent


def noting(ran, name):
    return lambda agent, ctx: ran.append(name)
