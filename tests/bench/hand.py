"""The handwritten code: it calls a few receivers by name, and isolates nothing.

Nothing here imports hookbus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .harness import fresh
from .parts import Colour, Function

# -- one receiver before, one after ----------------------------------------------------------------


def unrolled(colour: Colour, of: Colour, pre: Function, post: Function, body: Function) -> Any:
    """Return an object whose `reply` runs one receiver before and one after `body`, each called by
    name.
    """

    class Hand:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = pre(self, msg)
            if patch is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = body(self, msg, temperature)
            new = post(self, result)
            return result if new is None else new

    class HandAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = pre(self, msg)
            if patch is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            new = post(self, result)
            return result if new is None else new

    class HandAwaiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            patch = await pre(self, msg)
            if patch is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            new = await post(self, result)
            return result if new is None else new

    return own(Hand if colour == "sync" else HandAsync if of == "sync" else HandAwaiting)


def unrolled_five(
    colour: Colour, of: Colour, pres: Sequence[Function], posts: Sequence[Function], body: Function
) -> Any:
    """Return an object whose `reply` runs five receivers before and five after, written out one by
    one.
    """
    p1, p2, p3, p4, p5 = pres
    q1, q2, q3, q4, q5 = posts

    class Hand:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (patch := p1(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p2(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p3(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p4(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p5(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = body(self, msg, temperature)
            if (new := q1(self, result)) is not None:
                result = new
            if (new := q2(self, result)) is not None:
                result = new
            if (new := q3(self, result)) is not None:
                result = new
            if (new := q4(self, result)) is not None:
                result = new
            if (new := q5(self, result)) is not None:
                result = new
            return result

    class HandAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (patch := p1(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p2(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p3(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p4(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := p5(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            if (new := q1(self, result)) is not None:
                result = new
            if (new := q2(self, result)) is not None:
                result = new
            if (new := q3(self, result)) is not None:
                result = new
            if (new := q4(self, result)) is not None:
                result = new
            if (new := q5(self, result)) is not None:
                result = new
            return result

    class HandAwaiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            if (patch := await p1(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := await p2(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := await p3(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := await p4(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            if (patch := await p5(self, msg)) is not None:
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            if (new := await q1(self, result)) is not None:
                result = new
            if (new := await q2(self, result)) is not None:
                result = new
            if (new := await q3(self, result)) is not None:
                result = new
            if (new := await q4(self, result)) is not None:
                result = new
            if (new := await q5(self, result)) is not None:
                result = new
            return result

    return own(Hand if colour == "sync" else HandAsync if of == "sync" else HandAwaiting)


# -- any number, in a loop -------------------------------------------------------------------------


def looped(
    colour: Colour, of: Colour, pres: Sequence[Function], posts: Sequence[Function], body: Function
) -> Any:
    """Return an object whose `reply` runs lists of receivers in two loops."""
    pres, posts = tuple(pres), tuple(posts)

    class Loop:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for pre in pres:
                if (patch := pre(self, msg)) is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = body(self, msg, temperature)
            for post in posts:
                if (new := post(self, result)) is not None:
                    result = new
            return result

    class LoopAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for pre in pres:
                if (patch := pre(self, msg)) is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for post in posts:
                if (new := post(self, result)) is not None:
                    result = new
            return result

    class LoopAwaiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for pre in pres:
                if (patch := await pre(self, msg)) is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for post in posts:
                if (new := await post(self, result)) is not None:
                    result = new
            return result

    return own(Loop if colour == "sync" else LoopAsync if of == "sync" else LoopAwaiting)


def own(cls: type[Any]) -> Any:
    """Return an instance of a class whose methods have code of their own."""
    for name, function in list(vars(cls).items()):
        if callable(function) and not name.startswith("__"):
            setattr(cls, name, fresh(function))
    return cls()
