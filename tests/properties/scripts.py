"""Scripts and their four drivers: behaviour is written once, and runs in every kind of function.

A script is a generator of steps, `("yield", item)` or `("call", thunk)`, and returns a last thunk.
It receives the result of each call, or `("caught", kind)` where it `catches`. The last thunk runs
outside the script, so a StopIteration may leave it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import aclosing, nullcontext
from typing import Any, Final

from hookbus import HookBlocked, ReceiverError

from .described import CAUSES

Script = Generator[tuple[str, Any], Any, Callable[[], Any]]

PLAYERS: Final = {
    "sync": ("def", "return play({})"),
    "async": ("async def", "return await play_async({})"),
    "awaitable": ("def", "return play_later({})"),
    "generator": ("def", "return (yield from play_stream({}))"),
    "async generator": (
        "async def",
        "async with aclosing(play_async_stream({})) as items:\n        async for item in items:\n            yield item",  # noqa: E501
    ),
    "no generator": ("def", "return play({})"),
}


class Broken(Exception):
    """The error everybody raises here; its text is nobody's business."""


class Interrupt(BaseException):
    """What KeyboardInterrupt is, without stopping the event loop."""


def function(
    colour: str, name: str, parameters: str, expression: str, **known: Any
) -> Callable[..., Any]:
    """Return a function of this colour and exactly these parameters that plays the script that the
    expression gives.
    """
    head, line = PLAYERS[colour]
    names = {**globals(), **known}
    exec(f"{head} {name}({parameters}):\n    {line.format(expression)}\n", names)  # noqa: S102
    made: Callable[..., Any] = names[name]
    return made


def kind_of(error: BaseException | None) -> str | None:
    """Name an exception: one of ours by its type, whatever hookbus itself raises is misuse."""
    if error is None:
        return None
    if isinstance(error, HookBlocked | ReceiverError):
        return type(error).__name__
    return type(error).__name__ if type(error).__name__ in CAUSES else "misuse"


def play(script: Script, catches: bool = False) -> Any:
    """Play a plain script."""
    step, what = _first(script)
    while step == "call":
        try:
            answer = what()
        except Exception as error:
            answer = _caught(error, catches)
        step, what = _next(script, answer)
    return what()


async def play_async(script: Script, catches: bool = False) -> Any:
    """Play a script that awaits what it calls."""
    step, what = _first(script)
    return await _play_on(script, step, what, catches)


def play_later(script: Script, catches: bool = False) -> Coroutine[Any, Any, Any]:
    """Play a script up to its first step now, and the rest when awaited."""
    step, what = _first(script)
    return _play_on(script, step, what, catches)


async def _play_on(script: Script, step: str, what: Any, catches: bool) -> Any:
    while step == "call":
        try:
            answer = await what()
        except Exception as error:
            answer = _caught(error, catches)
        step, what = _next(script, answer)
    await asyncio.sleep(0)
    return await _settled(what())


def play_stream(
    script: Script, catches: bool = False, left: Callable[[], Any] | None = None
) -> Generator[Any, Any, Any]:
    """Play a script that yields items; what it calls are streams as well."""
    try:
        step, what = _first(script)
        while step != "end":
            answer = None
            try:
                if step == "yield":
                    yield what
                else:
                    answer = yield from what()
            except Exception as error:
                answer = _caught(error, catches)
            step, what = _next(script, answer)
        return what()
    finally:
        if left:
            left()


async def play_async_stream(
    script: Script, catches: bool = False, left: Callable[[], Any] | None = None
) -> AsyncGenerator[Any, None]:
    """Play a script that yields items and awaits. An around, like most people, never closes a
    stream it iterates.
    """
    closing = aclosing if left else nullcontext
    try:
        step, what = _first(script)
        while step != "end":
            answer = None
            try:
                if step == "yield":
                    yield what
                else:
                    async with closing(what()) as items:
                        async for item in items:
                            yield item
            except Exception as error:
                answer = _caught(error, catches)
            step, what = _next(script, answer)
        await _settled(what())
    finally:
        if left:
            left()


async def _settled(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _caught(error: Exception, catches: bool) -> tuple[str, str | None]:
    if not catches:
        raise error
    return ("caught", kind_of(error))


def _first(script: Script) -> tuple[str, Any]:
    return _next(script, None)


def _next(script: Script, answer: Any) -> tuple[str, Any]:
    try:
        return script.send(answer)
    except StopIteration as end:
        return ("end", end.value)
