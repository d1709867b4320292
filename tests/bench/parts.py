"""The bare methods and the receivers of every case. Nothing here imports hookbus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

Colour = Literal["sync", "async"]
Function = Callable[..., Any]

COLOURS: tuple[Colour, Colour] = ("sync", "async")
RESULT = {"msg": "hi", "temperature": 0.7}
CHANGED = {"msg": "hi!", "temperature": 0.7, "seen": True}


class Bare:
    def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        return {"msg": msg, "temperature": temperature}


class BareAsync:
    async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        return {"msg": msg, "temperature": temperature}


body, abody = Bare.reply, BareAsync.reply
BARE: dict[Colour, type[Any]] = {"sync": Bare, "async": BareAsync}
BODY: dict[Colour, Function] = {"sync": body, "async": abody}


# -- receivers -------------------------------------------------------------------------------------


def make_pre(of: Colour, changes: bool = False) -> Function:
    """Return a receiver of its own that asks for one argument, and changes it or not."""
    if of == "async":

        async def apre(agent: Any, msg: Any) -> Any:
            return None

        async def apre_changing(agent: Any, msg: Any) -> Any:
            return {"msg": msg + "!"}

        return apre_changing if changes else apre

    def pre(agent: Any, msg: Any) -> Any:
        return None

    def pre_changing(agent: Any, msg: Any) -> Any:
        return {"msg": msg + "!"}

    return pre_changing if changes else pre


def make_post(of: Colour, changes: bool = False) -> Function:
    """Return a receiver of its own that asks for the result, and changes it or not."""
    if of == "async":

        async def apost(agent: Any, result: Any) -> Any:
            return None

        async def apost_changing(agent: Any, result: Any) -> Any:
            return {**result, "seen": True}

        return apost_changing if changes else apost

    def post(agent: Any, result: Any) -> Any:
        return None

    def post_changing(agent: Any, result: Any) -> Any:
        return {**result, "seen": True}

    return post_changing if changes else post


def five_of(make: Callable[[Colour, bool], Function], of: Colour) -> list[Function]:
    """Return five receivers, the third of which changes something."""
    return [make(of, place == 2) for place in range(5)]


def make_around(of: Colour) -> Function:
    """Return an around that only passes on."""
    if of == "async":

        async def aaround(agent: Any, call_next: Function) -> Any:
            return await call_next()

        return aaround

    def around(agent: Any, call_next: Function) -> Any:
        return call_next()

    return around


def make_answer(colour: Colour, last: bool) -> Function:
    """Return a receiver that is asked a question; only the last one answers."""

    def receiver(message: Any) -> Any:
        return "session " + message if last else None

    async def areceiver(message: Any) -> Any:
        return "session " + message if last else None

    return receiver if colour == "sync" else areceiver


def payload() -> list[dict[str, Any]]:
    """Return about a megabyte of nested content blocks, as a conversation has them."""
    return [
        {"type": "text", "text": f"{place:0100}", "meta": {"tokens": [place, place + 1]}}
        for place in range(2_500)
    ]
