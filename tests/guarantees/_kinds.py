"""One method in every kind of function, and how a test calls it."""

from __future__ import annotations

import asyncio

import pytest

from hookbus import hookable

KINDS = pytest.mark.parametrize("kind", ["sync", "async", "generator", "async generator"])


def agent_of(kind, bus, body, **options):
    """Return an agent whose hookable `pay(arguments)` gives what `body(arguments)` does."""

    class Agent:
        if kind == "sync":

            @hookable("pay", bus=bus, **options)
            def pay(self, arguments):
                return body(arguments)

        elif kind == "async":

            @hookable("pay", bus=bus, **options)
            async def pay(self, arguments):
                await asyncio.sleep(0)
                return body(arguments)

        elif kind == "generator":

            @hookable("pay", bus=bus, **options)
            def pay(self, arguments):
                yield body(arguments)

        else:

            @hookable("pay", bus=bus, **options)
            async def pay(self, arguments):
                await asyncio.sleep(0)
                yield body(arguments)

    return Agent()


def around_of(kind, write):
    """Return an around of that kind that calls `write(arguments)` before it goes on."""

    def plain(agent, arguments, call_next):
        write(arguments)
        return call_next()

    async def awaited(agent, arguments, call_next):
        write(arguments)
        return await call_next()

    def stream(agent, arguments, call_next):
        write(arguments)
        yield from call_next()

    async def async_stream(agent, arguments, call_next):
        write(arguments)
        async for item in call_next():
            yield item

    return {
        "sync": plain, "async": awaited, "generator": stream, "async generator": async_stream
    }[kind]  # fmt: skip


def called(kind, agent, *arguments):
    """Call it to its end and return what it gave; of a stream its only item."""
    given = agent.pay(*arguments)
    if kind == "async":
        return asyncio.run(given)
    if kind == "generator":
        [item] = given
        return item
    if kind == "async generator":

        async def read():
            return [item async for item in given]

        [item] = asyncio.run(read())
        return item
    return given
