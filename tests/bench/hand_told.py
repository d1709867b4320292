"""Calls with a listener, written by hand: each event is a dict with the fields that hookbus's has.

Nothing here imports hookbus.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from .hand import own
from .hand_on import Refused, number_of_call, patched
from .parts import Colour, Function

NAMES = ("msg", "temperature")
NOTHING: Mapping[str, Any] = {}
RUNNING: ContextVar[int | None] = ContextVar("running", default=None)
"""The number of the call that runs."""


def began(agent: Any, call: int, parent: int | None) -> dict[str, Any]:
    """Return the record of a call that begins, with the fields of hookbus's `Started`."""
    return {
        "event": "Started", "call_id": call, "parent_id": parent, "hook": "reply",
        "sender": f"{type(agent).__qualname__} at {hex(id(agent))}", "at": time.time(),
        "baggage": NOTHING, "arguments": NAMES, "values": None, "labels": NOTHING,
    }  # fmt: skip


def ended(
    start: Mapping[str, Any], since: float, outcome: str, error: BaseException | None = None
) -> dict[str, Any]:
    """Return the record of a call that has ended, with the fields of hookbus's `Finished`."""
    return {
        "event": "Finished", "call_id": start["call_id"], "parent_id": start["parent_id"],
        "hook": "reply", "sender": start["sender"], "at": time.time(), "baggage": NOTHING,
        "outcome": outcome, "seconds": time.perf_counter() - since, "error": error,
        "result": None, "labels": NOTHING,
    }  # fmt: skip


def changed(start: Mapping[str, Any], name: str, receiver: Function) -> dict[str, Any]:
    """Return the record of a change, with the fields of hookbus's `Mutated`."""
    return {
        "event": "Mutated", "call_id": start["call_id"], "parent_id": start["parent_id"],
        "hook": "reply", "sender": start["sender"], "at": time.time(), "baggage": NOTHING,
        "receiver": receiver.__qualname__, "name": name, "index": None, "before": None,
        "after": None, "dropped": False,
    }  # fmt: skip


def told(colour: Colour, pre: Function, post: Function, body: Function, tell: Function) -> Any:
    """Return an object whose `reply` has one receiver before and one after, and tells of it all."""

    class Told:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            call, parent, since = number_of_call(), RUNNING.get(), time.perf_counter()
            RUNNING.set(call)
            tell(None, start := began(self, call, parent))
            try:
                if (patch := pre(self, msg)) is not None:
                    msg, temperature = patched(patch, msg, temperature)
                result = body(self, msg, temperature)
                if (new := post(self, result)) is not None:
                    result = new
            except BaseException as error:
                RUNNING.set(parent)
                tell(None, ended(start, since, "raised", error))
                raise
            RUNNING.set(parent)
            tell(None, ended(start, since, "returned"))
            return result

    class ToldAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            call, parent, since = number_of_call(), RUNNING.get(), time.perf_counter()
            RUNNING.set(call)
            tell(None, start := began(self, call, parent))
            try:
                if (patch := pre(self, msg)) is not None:
                    msg, temperature = patched(patch, msg, temperature)
                result = await body(self, msg, temperature)
                if (new := post(self, result)) is not None:
                    result = new
            except BaseException as error:
                RUNNING.set(parent)
                tell(None, ended(start, since, "raised", error))
                raise
            RUNNING.set(parent)
            tell(None, ended(start, since, "returned"))
            return result

    return own(Told if colour == "sync" else ToldAsync)


def everything(
    pres: Sequence[Function], posts: Sequence[Function], asks: Function, guard: Function,
    seconds: float, tell: Function, body: Function,
) -> Any:  # fmt: skip
    """Return an object whose `reply` has five receivers before and five after, the first two under
    a condition, a guard that is awaited no longer than this, and tells of it all.
    """
    p1, p2, p3, p4, p5 = pres
    q1, q2, q3, q4, q5 = posts

    class Everything:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            call, parent, since = number_of_call(), RUNNING.get(), time.perf_counter()
            RUNNING.set(call)
            tell(None, start := began(self, call, parent))
            try:
                if asks(msg) and (patch := p1(self, msg)) is not None:
                    for name in patch:
                        tell(None, changed(start, name, p1))
                    msg, temperature = patched(patch, msg, temperature)
                if asks(msg) and (patch := p2(self, msg)) is not None:
                    for name in patch:
                        tell(None, changed(start, name, p2))
                    msg, temperature = patched(patch, msg, temperature)
                if (patch := p3(self, msg)) is not None:
                    for name in patch:
                        tell(None, changed(start, name, p3))
                    msg, temperature = patched(patch, msg, temperature)
                if (patch := p4(self, msg)) is not None:
                    for name in patch:
                        tell(None, changed(start, name, p4))
                    msg, temperature = patched(patch, msg, temperature)
                if (patch := p5(self, msg)) is not None:
                    for name in patch:
                        tell(None, changed(start, name, p5))
                    msg, temperature = patched(patch, msg, temperature)
                async with asyncio.timeout(seconds):
                    reason = await guard(self, msg)
                if reason is not None:
                    raise Refused(reason, "guard", "reply")
                result = await body(self, msg, temperature)
                if (new := q1(self, result)) is not None:
                    tell(None, changed(start, "result", q1))
                    result = new
                if (new := q2(self, result)) is not None:
                    tell(None, changed(start, "result", q2))
                    result = new
                if (new := q3(self, result)) is not None:
                    tell(None, changed(start, "result", q3))
                    result = new
                if (new := q4(self, result)) is not None:
                    tell(None, changed(start, "result", q4))
                    result = new
                if (new := q5(self, result)) is not None:
                    tell(None, changed(start, "result", q5))
                    result = new
            except BaseException as error:
                RUNNING.set(parent)
                tell(None, ended(start, since, "raised", error))
                raise
            RUNNING.set(parent)
            tell(None, ended(start, since, "returned"))
            return result

    return own(Everything)
