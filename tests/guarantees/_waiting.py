"""An agent that waits, receivers that hang, and the events about them."""

from __future__ import annotations

import asyncio
import contextlib

from hookbus import Bus, hookable


class Hung:
    """A receiver that comes to no end by itself."""

    def __init__(self):
        self.started = asyncio.Event()
        self.is_over = False

    async def __call__(self, agent):
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_over = True


class Agent:
    bus = Bus()

    def __init__(self):
        self.bodies = 0

    @hookable("reply", bus=bus)
    async def reply(self, wait=0):
        self.bodies += 1
        for _ in range(wait):
            await asyncio.sleep(0)
        return "result"

    @hookable("hang", bus=bus)
    async def hang(self):
        self.bodies += 1
        await asyncio.Event().wait()

    @hookable("patience", bus=bus)
    async def patience(self, attempts):
        self.bodies += 1
        if self.bodies < attempts:
            await asyncio.Event().wait()
        return "result"

    @hookable("interrupted", bus=bus)
    async def interrupted(self):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "interrupted"


def connect(agent, name, receiver, **options):
    return Agent.bus.signal(name).connect(receiver, sender=agent, **options)


async def settle():
    """Let everything that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


@contextlib.contextmanager
def telling(bus):
    """Give a function that returns the events of one kind that this bus has told inside."""
    heard = []
    listener = bus.events.connect(lambda bus, event: heard.append(event))
    yield lambda kind: [event for event in heard if isinstance(event, kind)]
    bus.events.disconnect(listener)
