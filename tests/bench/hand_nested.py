"""More handwritten code: arounds, contexts, overrides, questions, concurrent observers.

Nothing here imports hookbus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .hand import own
from .parts import Bare, BareAsync, Colour, Function


def nested_five(colour: Colour, arounds: Sequence[Function], body: Function) -> Any:
    """Return an object whose `reply` nests five arounds around `body`, as closures."""
    a1, a2, a3, a4, a5 = arounds

    class Nested:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            def innermost() -> Any:
                return body(self, msg, temperature)

            def fifth() -> Any:
                return a5(self, innermost)

            def fourth() -> Any:
                return a4(self, fifth)

            def third() -> Any:
                return a3(self, fourth)

            def second() -> Any:
                return a2(self, third)

            return a1(self, second)

    class NestedAsync:
        # The closures hand on the coroutines; to await each one there as well would only be slower.
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            def innermost() -> Any:
                return body(self, msg, temperature)

            def fifth() -> Any:
                return a5(self, innermost)

            def fourth() -> Any:
                return a4(self, fifth)

            def third() -> Any:
                return a3(self, fourth)

            def second() -> Any:
                return a2(self, third)

            return await a1(self, second)

    return own(Nested if colour == "sync" else NestedAsync)


def decorated_five(colour: Colour, body: Function) -> tuple[Any, Function]:
    """Return an object whose `reply` has five of the usual decorators, and one of their wrappers:
    all of them have the same code.
    """

    def decorate(inner: Function) -> Function:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return inner(*args, **kwargs)

        async def awaiting_wrapper(*args: Any, **kwargs: Any) -> Any:
            return await inner(*args, **kwargs)

        return wrapper if colour == "sync" else awaiting_wrapper

    reply = body
    for _ in range(5):
        reply = decorate(reply)
    return type("Decorated", (), {"reply": reply})(), reply


class Context:
    """What somebody would pass to receivers that want to see everything of a call."""

    __slots__ = ("kwargs", "result", "sender")

    def __init__(self, sender: Any, kwargs: dict[str, Any], result: Any = None) -> None:
        self.sender, self.kwargs, self.result = sender, kwargs, result


def with_context(colour: Colour, pre: Function, post: Function, body: Function) -> Any:
    """Return an object whose `reply` gives a context to a receiver before `body` and one after."""

    class Hand:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            ctx = Context(self, {"msg": msg, "temperature": temperature})
            patch = pre(self, ctx)
            if patch is not None:
                ctx.kwargs.update(patch)
            ctx.result = body(self, **ctx.kwargs)
            new = post(self, ctx)
            return ctx.result if new is None else new

    class HandAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            ctx = Context(self, {"msg": msg, "temperature": temperature})
            patch = pre(self, ctx)
            if patch is not None:
                ctx.kwargs.update(patch)
            ctx.result = await body(self, **ctx.kwargs)
            new = post(self, ctx)
            return ctx.result if new is None else new

    return own(Hand if colour == "sync" else HandAsync)


def overridden(colour: Colour, pre: Function, post: Function) -> Any:
    """Return an object whose `reply` overrides a bare one, calls `super()`, and runs a receiver
    before and one after.
    """

    class Child(Bare):
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = pre(self, msg)
            if patch is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = self._reply(msg, temperature)
            new = post(self, result)
            return result if new is None else new

        def _reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return super().reply(msg, temperature)

    class ChildAsync(BareAsync):
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = pre(self, msg)
            if patch is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await self._reply(msg, temperature)
            new = post(self, result)
            return result if new is None else new

        async def _reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return await super().reply(msg, temperature)

    return own(Child if colour == "sync" else ChildAsync)


def first_answer(colour: Colour, receivers: Sequence[Function]) -> Function:
    """Return a function that asks one after the other until somebody answers."""
    receivers = tuple(receivers)

    def ask(message: Any) -> Any:
        for receiver in receivers:
            answer = receiver(message)
            if answer is not None:
                return answer
        return None

    async def aask(message: Any) -> Any:
        for receiver in receivers:
            answer = await receiver(message)
            if answer is not None:
                return answer
        return None

    return ask if colour == "sync" else aask


def gathered(observers: Sequence[Function], body: Function) -> Any:
    """Return an object whose `reply` has observers look side by side before `body` runs."""
    observers = tuple(observers)

    class Gathered:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            await asyncio.gather(*(observer(self, msg) for observer in observers))
            return await body(self, msg, temperature)

    return own(Gathered)
