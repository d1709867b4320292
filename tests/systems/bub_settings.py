"""Bub on hookbus, strict."""

import pytest
from bub.hooks.interception import ToolCall
from bub.streaming import AsyncStreamEvents, StreamEvent, StreamState

from hookbus.adapters import bub


@pytest.fixture(autouse=True)
def strict(bus):
    uninstall = bub.install(bus, strict=True)
    yield
    uninstall()


CALL = ToolCall("run", "bash", {"cmd": "ls", "deep": {"x": 1}})


MODEL = {"prompt": "p", "session_id": "s", "state": {}}


def broken():
    raise LookupError("broken")


def stream_of(*words):
    async def events():
        for word in words:
            yield StreamEvent("text", {"delta": word})

    return AsyncStreamEvents(events(), state=StreamState())


async def joined(stream):
    return [event.data["delta"] async for event in stream]
