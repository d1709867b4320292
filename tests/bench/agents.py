"""Objects that hookbus hooks, each class on a separate bus."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from hookbus import Bus, hookable

from .parts import Colour, Function


def hooked(
    colour: Colour, options: dict[str, Any] | None = None, bus: Bus | None = None,
    **receivers: Sequence[Function]
) -> Any:  # fmt: skip
    """Return an object with a hookable `reply` and receivers by phase, connected to its class with
    these options.
    """
    home = bus or Bus()

    class Agent:
        @hookable("reply", bus=home)
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

    class AgentAsync:
        @hookable("reply", bus=home)
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

    cls = Agent if colour == "sync" else AgentAsync
    for phase, functions in receivers.items():
        for function in functions:
            home.signal(f"{phase}_reply").connect(function, cls, **(options or {}))
    return cls()


def overriding(colour: Colour, pre: Function, post: Function) -> Any:
    """Return an object whose `reply` overrides a hookable and calls `super()`, with a receiver
    before and one after.
    """
    bus = Bus()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

    class Child(Agent):
        @hookable("reply", bus=bus)
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return super().reply(msg, temperature)

    class AgentAsync:
        @hookable("reply", bus=bus)
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

    class ChildAsync(AgentAsync):
        @hookable("reply", bus=bus)
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return await super().reply(msg, temperature)

    cls = Child if colour == "sync" else ChildAsync
    bus.signal("pre_reply").connect(pre, cls)
    bus.signal("post_reply").connect(post, cls)
    return cls()


def classic_wrapper(colour: Colour, body: Function) -> Any:
    """Return an object whose `reply` is wrapped the way most decorators do it."""

    @functools.wraps(body)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return body(*args, **kwargs)

    @functools.wraps(body)
    async def awrapper(*args: Any, **kwargs: Any) -> Any:
        return await body(*args, **kwargs)

    return type("Wrapped", (), {"reply": wrapper if colour == "sync" else awrapper})()
