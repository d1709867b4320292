"""The parts of a streamed answer: how they leave a `model_call`, and the context of each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any


class Part:
    """An item of a streamed answer on its way out of a `model_call`.

    Any other value that leaves the call replaces the whole answer.
    """

    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item


class Whole:
    """The whole of a streamed answer: the result that `post` and `finally` see.

    The call uses it as its result, and never yields it as an item.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Held:
    """Lets a context variable have a value within a `with` block, whatever context the block ends
    in."""

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
    """Yield items, each made in the context of the reader while a variable holds the attempt."""
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
    """Like `steps`, for async items."""
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
    """Yield the items of an iterable, which may have nothing to close, and close it."""
    try:
        yield from items
    finally:
        if hasattr(items, "close"):
            items.close()


async def each_async(answer: Any) -> AsyncGenerator[Any, None]:
    """Like `each`, for async items or an awaitable of them."""
    items = await answer if isawaitable(answer) else answer
    try:
        async for item in items:
            yield item
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()
