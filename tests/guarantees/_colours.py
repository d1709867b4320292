"""One hooked method in the four kinds, and how to call each to its end."""

from __future__ import annotations

import asyncio
from typing import Any

from hookbus import Bus, hookable


def make_agent(bus: Bus, colour: str) -> Any:
    """Return an agent whose `reply`, a function of this colour, answers with its message."""

    class Sync:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    class Async:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            return msg

    class Generator:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            yield msg

    class AsyncGenerator:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            yield msg

    return {
        "sync": Sync,
        "async": Async,
        "generator": Generator,
        "async_generator": AsyncGenerator,
    }[colour]()


def take(colour: str, agent: Any, msg: Any) -> Any:
    """Call `agent.reply(msg)` and return its answer, of a stream the only item."""
    if colour == "sync":
        return agent.reply(msg)
    if colour == "async":
        return asyncio.run(agent.reply(msg))
    items = (
        list(agent.reply(msg)) if colour == "generator" else asyncio.run(_drain(agent.reply(msg)))
    )
    (item,) = items
    return item


async def _drain(stream: Any) -> list[Any]:
    return [item async for item in stream]
