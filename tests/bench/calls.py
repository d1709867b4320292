"""Cases that call one method repeatedly."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from itertools import repeat
from typing import Any

from .harness import Case, Expect, fresh


def method(
    owner: Any, expect: Expect, *counted: Callable[..., Any], args: tuple[Any, Any] = ("hi", 0.7)
) -> Case:
    """Return the case of calling `owner.reply` with two arguments, awaited where it is a coroutine
    function.
    """
    first, second = args
    if inspect.iscoroutinefunction(owner.reply):

        async def once_awaited() -> Any:
            return await owner.reply(first, second)

        return Case(once_awaited, _awaited_calls(owner, first, second), expect, counted)
    return Case(lambda: owner.reply(first, second), _calls(owner, first, second), expect, counted)


def _calls(owner: Any, a: Any, b: Any) -> Callable[[int], None]:
    # Ten in a row, so that the loop itself is next to nothing.
    def many(n: int) -> None:
        for _ in repeat(None, n // 10):
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
            owner.reply(a, b)
        for _ in repeat(None, n % 10):
            owner.reply(a, b)

    return fresh(many)  # type: ignore[no-any-return]


def _awaited_calls(owner: Any, a: Any, b: Any) -> Callable[[int], Any]:
    async def many(n: int) -> None:
        for _ in repeat(None, n // 10):
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
            await owner.reply(a, b)
        for _ in repeat(None, n % 10):
            await owner.reply(a, b)

    return fresh(many)  # type: ignore[no-any-return]


def refused(
    owner: Any, error: type[Exception], expect: Expect, *counted: Callable[..., Any]
) -> Case:
    """Return the case of calling `owner.reply` and catching what it raises; its first argument is
    the result.
    """

    def once() -> Any:
        try:
            return owner.reply("hi", 0.7)
        except error as said:
            return said.args[0]

    async def aonce() -> Any:
        try:
            return await owner.reply("hi", 0.7)
        except error as said:
            return said.args[0]

    def many(n: int) -> None:
        for _ in repeat(None, n):
            try:
                owner.reply("hi", 0.7)
            except error:
                pass

    async def amany(n: int) -> None:
        for _ in repeat(None, n):
            try:
                await owner.reply("hi", 0.7)
            except error:
                pass

    if inspect.iscoroutinefunction(owner.reply):
        return Case(aonce, fresh(amany), expect, counted)
    return Case(once, fresh(many), expect, counted)


def hundred(owner: Any, runs: int, *counted: Callable[..., Any]) -> Case:
    """Return the case of 100 calls of `owner.reply` that overlap, as one call with 100 units."""

    async def once() -> Any:
        return await asyncio.gather(*(owner.reply(number, 0.7) for number in range(100)))

    async def many(n: int) -> None:
        for _ in repeat(None, n):
            await asyncio.gather(*(owner.reply(number, 0.7) for number in range(100)))

    expect = Expect(runs, [{"msg": number, "temperature": 0.7} for number in range(100)])
    return Case(once, fresh(many), expect, counted, unit=100)


def asking(
    colour: str, ask: Callable[..., Any], expect: Expect, *counted: Callable[..., Any]
) -> Case:
    """Return the case of asking a question, with the answer awaited where `colour` is async."""

    def many(n: int) -> None:
        for _ in repeat(None, n):
            ask("hi")

    async def amany(n: int) -> None:
        for _ in repeat(None, n):
            await ask("hi")

    async def once() -> Any:
        return await ask("hi")

    if colour == "sync":
        return Case(lambda: ask("hi"), fresh(many), expect, counted)
    return Case(once, fresh(amany), expect, counted)
