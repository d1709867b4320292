"""What hooks cost per item of a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from hookbus import Bus, hookable

from .harness import Case, Expect
from .parts import Colour, Function

ITEMS = 1_000


class Bare:
    def stream(self, number: int) -> Iterator[int]:
        yield from range(number)


class BareAsync:
    async def stream(self, number: int) -> AsyncIterator[int]:
        for item in range(number):
            yield item


def streaming(colour: Colour) -> dict[str, Case]:
    """Return the cases: what one item costs, whoever listens."""
    items, arounds = [make_item() for _ in range(10)], [_around(colour) for _ in range(2)]
    return {
        "bare generator": case_of_stream(Bare() if colour == "sync" else BareAsync(), 0, items[0]),
        "hookable, nobody listens": case_of_stream(hooked_stream(colour), 0, items[0]),
        "1 pre, nobody at the items": case_of_stream(hooked_stream(colour, pre=[_pre]), 1, _pre),
        "1 item receiver": case_of_stream(hooked_stream(colour, item=items[:1]), ITEMS, items[0]),
        "10 item receivers": case_of_stream(
            hooked_stream(colour, item=items), 10 * ITEMS, items[0]
        ),
        "1 around": case_of_stream(hooked_stream(colour, around=arounds[:1]), 1, arounds[0]),
        "2 arounds": case_of_stream(hooked_stream(colour, around=arounds), 2, arounds[0]),
    }


def case_of_stream(owner: Any, runs: int, counted: Function) -> Case:
    def once() -> Any:
        return list(owner.stream(ITEMS))

    def many(n: int) -> None:
        for _ in repeat(None, n):
            for _ in owner.stream(ITEMS):
                pass

    async def aonce() -> Any:
        return [item async for item in owner.stream(ITEMS)]

    async def amany(n: int) -> None:
        for _ in repeat(None, n):
            async for _ in owner.stream(ITEMS):
                pass

    case = Case(once, many, Expect(runs, list(range(ITEMS))), (counted,), unit=ITEMS)
    return replace(case, once=aonce, many=amany) if hasattr(owner.stream(0), "__aiter__") else case


def hooked_stream(colour: Colour, **receivers: Sequence[Function]) -> Any:
    bus = Bus()

    class Agent:
        @hookable("stream", bus=bus)
        def stream(self, number: int) -> Iterator[int]:
            yield from range(number)

    class AgentAsync:
        @hookable("stream", bus=bus)
        async def stream(self, number: int) -> AsyncIterator[int]:
            for item in range(number):
                yield item

    cls = Agent if colour == "sync" else AgentAsync
    for phase, functions in receivers.items():
        for function in functions:
            bus.signal(f"{phase}_stream").connect(function, cls)
    return cls()


def _pre(agent: Any, number: int) -> Any:
    return None


def make_item() -> Function:
    def receiver(agent: Any, item: Any) -> Any:
        return None

    return receiver


def _around(colour: Colour) -> Function:
    def around(agent: Any, call_next: Function) -> Any:
        yield from call_next()

    async def aaround(agent: Any, call_next: Function) -> Any:
        async for item in call_next():
            yield item

    return around if colour == "sync" else aaround
