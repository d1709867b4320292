"""A base and a child, both hooked in every kind, and the receivers called for each message."""

from __future__ import annotations

import asyncio

from hookbus import Bus, events, hookable


class Family:
    """A base and a child whose every hookable calls `super()`.

    Attributes:
        asked: the messages the guard was asked about, in order.
        started: the `Started` events, in order.
    """

    def __init__(self):
        self.bus, self.asked, self.started = Bus(), [], []
        self.Base, self.Child = base_of(self), None
        self.Child = child_of(self)
        self.agent = self.Child()
        for hook in ("reply", "think", "stream", "feed"):
            self.bus.signal(f"pre_{hook}").connect(
                lambda agent, msg: self.asked.append(msg), role="guard"
            )
        self.bus.events.connect(self.hear)

    def hear(self, bus, event):
        if isinstance(event, events.Started):
            self.started.append(event)

    def parent_of(self, number):
        """Return the number, by order of starting, of the call in which this one was made; None for
        no call.
        """
        ids = [event.call_id for event in self.started]
        parent = self.started[number].parent_id
        return None if parent is None else ids.index(parent)


def base_of(family):
    class Base:
        @hookable("reply", bus=family.bus)
        async def reply(self, msg, *callbacks):
            await asyncio.sleep(0)
            return msg

        @hookable("think", bus=family.bus)
        def think(self, msg, *callbacks):
            return msg

        @hookable("stream", bus=family.bus)
        def stream(self, msg):
            yield msg
            yield msg

        @hookable("feed", bus=family.bus)
        async def feed(self, msg):
            yield msg
            await asyncio.sleep(0)
            yield msg

    return Base


def child_of(family):
    class Child(family.Base):
        @hookable("reply", bus=family.bus)
        async def reply(self, msg, *callbacks):
            await asyncio.sleep(0)
            for callback in callbacks:
                await callback(self)
            return await super().reply(msg)

        @hookable("think", bus=family.bus)
        def think(self, msg, *callbacks):
            for callback in callbacks:
                callback(self)
            return super().think(msg)

        @hookable("stream", bus=family.bus)
        def stream(self, msg):
            yield from super().stream(msg)

        @hookable("feed", bus=family.bus)
        async def feed(self, msg):
            async for item in super().feed(msg):
                yield item

    return Child
