"""The agent for the tests of AgentScope's defects."""

import asyncio

import pytest

from hookbus import hookable


@pytest.fixture
def Agent(bus):
    class Agent:
        def __init__(self):
            self.bodies = []

        @hookable("reply", bus=bus)
        async def reply(self, msg, delay=0.0):
            await asyncio.sleep(delay)
            self.bodies.append(msg)
            return f"re: {msg}"

    return Agent
