"""AgentScope before `install`, while it runs on hookbus, and after `uninstall`."""

import asyncio

import pytest
from agentscope.agent import AgentBase, ReActAgentBase
from agentscope.message import Msg

from hookbus import Bus
from hookbus.adapters import agentscope


@pytest.fixture(params=["before", "during", "after"], autouse=True)
def state(request):
    if request.param == "before":
        yield request.param
    else:
        uninstall = agentscope.install(Bus(values=True))
        if request.param == "after":
            uninstall()
        yield request.param
        uninstall()
    ReActAgentBase.clear_class_hooks()


class Existing(AgentBase):
    """A class that is there before anything is installed."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    async def reply(self, msg, temperature=0.7):
        self.bodies.append((msg, temperature))
        return f"re: {msg}"

    async def observe(self, msg):
        self.bodies.append(msg)

    async def handle_interrupt(self, *args, **kwargs):
        return Msg("agent", "interrupted", "assistant")


def made_now():
    class Agent(Existing):
        async def reply(self, msg, temperature=0.7):
            self.bodies.append((msg, temperature))
            return f"re: {msg}"

    return Agent()


@pytest.fixture(params=["of a class that exists", "of a class made later"])
def agent(request):
    return Existing() if request.param == "of a class that exists" else made_now()


def run(awaitable):
    return asyncio.run(awaitable)


def noting(ran, name):
    return lambda self, kwargs, *output: ran.append(name)
