"""The tool for the tests of Agno's defects."""

import pytest

from hookbus import hookable


@pytest.fixture
def Tool(bus):
    class Tool:
        def __init__(self):
            self.ran = []

        @hookable("tool", bus=bus)
        def call(self, **args):
            self.ran.append(args)
            if args.get("fail"):
                raise LookupError("nothing there")
            return args

        @hookable("atool", bus=bus)
        async def acall(self, **args):
            self.ran.append(args)
            return args

        @hookable("stream", bus=bus)
        def stream(self, n, fail=False):
            yield from range(n)
            if fail:
                raise LookupError("broken off")

    return Tool
