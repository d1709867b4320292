"""The parts of a streamed answer: how a `model_call` yields them, and in which context each is
made.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any


class Part:
    """An item of a streamed answer that a `model_call` yields.

    Any other value that the call yields replaces the whole answer.
    """

    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item


class Whole:
    """The complete streamed answer, which `post` and `finally` receivers see as the result.

    The call uses the value as its result, and never yields the value as an item.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Held:
    """Sets a context variable within a `with` block, even if the block ends in another context."""

    __slots__ = ("_previous", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: Any) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._previous = self._variable.get()
        try:
            self._variable.set(self._value)
        except BaseException:  # an interrupt, before the block has begun
            self._variable.set(self._previous)
            raise

    def __exit__(self, *_: object) -> None:
        self._variable.set(self._previous)


def steps(
    variable: ContextVar[Any], attempt: Any, items: Any
) -> Generator[Any, Any, None]:
    """Yield items. Each item is made in the context of its consumer, with the context variable set
    to the attempt.
    """
    with closing(items):
        while True:
            previous = variable.get()
            try:
                variable.set(attempt)
                item = next(items)
            except StopIteration:
                return
            finally:
                variable.set(previous)
            yield item


async def steps_async(
    variable: ContextVar[Any], attempt: Any, items: Any
) -> AsyncGenerator[Any, None]:
    """Like `steps`, but for async items."""
    async with aclosing(items):
        while True:
            previous = variable.get()
            try:
                variable.set(attempt)
                item = await anext(items)
            except StopAsyncIteration:
                return
            finally:
                variable.set(previous)
            yield item


def each(items: Any) -> Generator[Any, Any, None]:
    """Yield the items of an iterable, then close the iterable if it has a `close` method."""
    try:
        yield from items
    finally:
        if hasattr(items, "close"):
            items.close()


async def each_async(answer: Any) -> AsyncGenerator[Any, None]:
    """Like `each`, but for async items, or for an awaitable that returns them."""
    items = await answer if isawaitable(answer) else answer
    try:
        async for item in items:
            yield item
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()
