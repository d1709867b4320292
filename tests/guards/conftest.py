"""A tool call, sync and async, as adapters of frameworks declare it."""

import asyncio

import pytest

from hookbus import Bus, hookable


class Calls:
    """Makes tool calls in one colour, and keeps what the tool was called with."""

    def __init__(self, bus, colour):
        self.bus, self.made, self.result = bus, [], "done"

        def body(name, arguments, call_id=None, kind="function", tool=None, caller=None):
            self.made.append((name, arguments))
            if isinstance(self.result, BaseException):
                raise self.result
            return self.result

        async def body_async(
            name, arguments, call_id=None, kind="function", tool=None, caller=None
        ):
            await asyncio.sleep(0)
            return body(name, arguments)

        self.is_async = colour == "async"
        self.function = hookable("tool_call", bus=bus)(body_async if self.is_async else body)

    def __call__(self, name, **arguments):
        return self.given(name, arguments)

    def given(self, name, arguments):
        made = self.function(name, arguments)
        return asyncio.run(made) if self.is_async else made


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture(params=["sync", "async"])
def call(request, bus):
    return Calls(bus, request.param)
