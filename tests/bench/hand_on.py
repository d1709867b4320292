"""Optional features written by hand: predicates, deadlines, streams, verdicts.

Nothing here imports hookbus.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Executor
from itertools import count
from typing import Any

from .hand import own
from .parts import Colour, Function

number_of_call: Callable[[], int] = count(1).__next__


def patched(patch: Mapping[str, Any], msg: Any, temperature: float) -> tuple[Any, float]:
    """Return the arguments with what a receiver changes."""
    return patch.get("msg", msg), patch.get("temperature", temperature)


# -- one receiver, under a condition, with a deadline, with a context, or one that fails -----------


def conditional(colour: Colour, asks: Function, pre: Function, body: Function) -> Any:
    """Return an object whose `reply` runs one receiver where `asks(msg)` holds."""

    class Conditional:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if asks(msg) and (patch := pre(self, msg)) is not None:
                msg, temperature = patched(patch, msg, temperature)
            return body(self, msg, temperature)

    class ConditionalAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if asks(msg) and (patch := pre(self, msg)) is not None:
                msg, temperature = patched(patch, msg, temperature)
            return await body(self, msg, temperature)

    return own(Conditional if colour == "sync" else ConditionalAsync)


def timed(seconds: float, pre: Function, body: Function) -> Any:
    """Return an object whose `reply` awaits one receiver no longer than this."""

    class Timed:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            async with asyncio.timeout(seconds):
                patch = await pre(self, msg)
            if patch is not None:
                msg, temperature = patched(patch, msg, temperature)
            return await body(self, msg, temperature)

    return own(Timed)


def executed(seconds: float, executor: Executor, pre: Function, body: Function) -> Any:
    """Return an object whose `reply` waits for one receiver in a thread no longer than this."""

    class Executed:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = executor.submit(pre, self, msg).result(seconds)
            if patch is not None:
                msg, temperature = patched(patch, msg, temperature)
            return body(self, msg, temperature)

    return own(Executed)


class Seen:
    """All of a call, for a receiver that asks for it."""

    __slots__ = ("call_id", "error", "hook", "kwargs", "outcome", "result", "sender", "state")

    def __init__(self, hook: str, sender: Any, kwargs: dict[str, Any], call_id: int) -> None:
        self.hook, self.sender, self.kwargs, self.call_id = hook, sender, kwargs, call_id
        self.result = self.error = self.outcome = None
        self.state: dict[str, Any] = {}


def shown(colour: Colour, pre: Function, body: Function) -> Any:
    """Return an object whose `reply` shows all of the call to one receiver."""

    class Shown:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            seen = Seen("reply", self, {"msg": msg, "temperature": temperature}, number_of_call())
            if (patch := pre(self, seen)) is not None:
                seen.kwargs.update(patch)
            return body(self, **seen.kwargs)

    class ShownAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            seen = Seen("reply", self, {"msg": msg, "temperature": temperature}, number_of_call())
            if (patch := pre(self, seen)) is not None:
                seen.kwargs.update(patch)
            return await body(self, **seen.kwargs)

    return own(Shown if colour == "sync" else ShownAsync)


def isolating(colour: Colour, pre: Function, body: Function) -> Any:
    """Return an object whose `reply` goes on when its receiver fails, and counts that."""

    class Isolating:
        failures = 0

        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            try:
                patch = pre(self, msg)
            except Exception:
                self.failures += 1
            else:
                if patch is not None:
                    msg, temperature = patched(patch, msg, temperature)
            return body(self, msg, temperature)

    class IsolatingAsync:
        failures = 0

        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            try:
                patch = pre(self, msg)
            except Exception:
                self.failures += 1
            else:
                if patch is not None:
                    msg, temperature = patched(patch, msg, temperature)
            return await body(self, msg, temperature)

    return own(Isolating if colour == "sync" else IsolatingAsync)


# -- verdicts --------------------------------------------------------------------------------------


class Refused(Exception):
    """A call that a guard did not let run."""


def guarded(colour: Colour, guard: Function, body: Function) -> Any:
    """Return an object whose `reply` raises what its guard says against the call."""

    class Guarded:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (reason := guard(self, msg)) is not None:
                raise Refused(reason, "guard", "reply")
            return body(self, msg, temperature)

    class GuardedAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (reason := guard(self, msg)) is not None:
                raise Refused(reason, "guard", "reply")
            return await body(self, msg, temperature)

    return own(Guarded if colour == "sync" else GuardedAsync)


class RefusedBy(Refused):
    """A refusal that has the verdict and the number of its call, as hookbus's has."""

    verdict: Any
    call_id: int


def guarded_by_verdict(colour: Colour, guard: Function, body: Function) -> Any:
    """Return an object whose `reply` raises an exception that has the verdict of its guard."""

    def refusal(verdict: Any) -> RefusedBy:
        raised = RefusedBy(verdict.reason, "guard", "reply")
        raised.verdict, raised.call_id = verdict, number_of_call()
        return raised

    class Guarded:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (verdict := guard(self, msg)) is not None:
                raise refusal(verdict)
            return body(self, msg, temperature)

    class GuardedAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (verdict := guard(self, msg)) is not None:
                raise refusal(verdict)
            return await body(self, msg, temperature)

    return own(Guarded if colour == "sync" else GuardedAsync)


def asked_after(colour: Colour, guard: Function, receiver: Function) -> Function:
    """Return a function that asks a guard, then one receiver."""

    def ask(message: Any) -> Any:
        if (reason := guard(None, message)) is not None:
            raise Refused(reason, "guard", "ask")
        return receiver(message)

    async def aask(message: Any) -> Any:
        if (reason := guard(None, message)) is not None:
            raise Refused(reason, "guard", "ask")
        return await receiver(message)

    return ask if colour == "sync" else aask


# -- a stream --------------------------------------------------------------------------------------


def itemised(colour: Colour, receiver: Function, stream: Function) -> Any:
    """Return an object whose `stream` gives each item to one receiver, which may change it."""

    class Itemised:
        def stream(self, number: int) -> Iterator[Any]:
            for item in stream(self, number):
                new = receiver(self, item)
                yield item if new is None else new

    class ItemisedAsync:
        async def stream(self, number: int) -> AsyncIterator[Any]:
            async for item in stream(self, number):
                new = receiver(self, item)
                yield item if new is None else new

    return own(Itemised if colour == "sync" else ItemisedAsync)
