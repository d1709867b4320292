"""The tools for the tests with Agno's own hooks."""

import pytest

from hookbus import hookable


@pytest.fixture
def Toolbox(bus):
    class Toolbox:
        """Tools of an agent; every call of one is the hook `tool`."""

        def __init__(self, agent=None):
            self.agent, self.ran = agent, []

        @hookable("tool", bus=bus)
        def call(self, name, args):
            self.ran.append((name, dict(args)))
            return f"{name}: {args}"

        @hookable("tool", bus=bus)
        async def acall(self, name, args):
            self.ran.append((name, dict(args)))
            return f"{name}: {args}"

        @hookable("tool", bus=bus)
        def stream(self, name, args):
            yield from range(args["n"])

    return Toolbox
