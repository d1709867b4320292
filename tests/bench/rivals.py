"""The same work with blinker and with pluggy, as in their documentation, with the same receivers.

The receivers of blinker get every argument, so it sends only what they need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pluggy
from blinker import Signal

from .harness import fresh
from .parts import Colour, Function

hookspec, hookimpl = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")


class Specs:
    @hookspec
    def pre_reply(self, agent: Any, msg: Any, temperature: float) -> Any: ...

    @hookspec
    def post_reply(self, agent: Any, result: Any) -> Any: ...

    @hookspec
    def saw_reply(self, agent: Any, msg: Any) -> Any: ...

    @hookspec(firstresult=True)
    def run_reply(self, agent: Any, msg: Any, temperature: float) -> Any: ...

    @hookspec(firstresult=True)
    def resolve_session(self, message: Any) -> Any: ...


def manager(wrappers: Sequence[Function] = (), **impls: Sequence[Function]) -> Any:
    """Return pluggy's `pm.hook` with implementations by hook name, called in the order given, and
    wrappers of `run_reply`.
    """
    pm = pluggy.PluginManager("bench")
    pm.add_hookspecs(Specs)
    for name, functions in impls.items():
        for function in reversed(functions):
            pm.register(SimpleNamespace(receiver=hookimpl(specname=name)(fresh(function))))
    for function in reversed(wrappers):
        pm.register(
            SimpleNamespace(receiver=hookimpl(specname="run_reply", wrapper=True)(fresh(function)))
        )
    return pm.hook


def signal_of(receivers: Sequence[Function], sender: Any = None) -> Signal:
    """Return a blinker signal with these receivers, connected to any sender or to one."""
    signal = Signal()
    for receiver in receivers:
        signal.connect(receiver, weak=False) if sender is None else signal.connect(
            receiver, sender, weak=False
        )
    return signal


def by_blinker(colour: Colour, of: Colour, before: Signal, after: Signal, body: Function) -> Any:
    """Return an object whose `reply` sends one signal before `body` and one after."""

    class Blinker:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for _, patch in before.send(self, msg=msg):
                if patch is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = body(self, msg, temperature)
            for _, new in after.send(self, result=result):
                if new is not None:
                    result = new
            return result

    class BlinkerAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for _, patch in before.send(self, msg=msg):
                if patch is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for _, new in after.send(self, result=result):
                if new is not None:
                    result = new
            return result

    class BlinkerAwaiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for _, patch in await before.send_async(self, msg=msg):
                if patch is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for _, new in await after.send_async(self, result=result):
                if new is not None:
                    result = new
            return result

    return (Blinker if colour == "sync" else BlinkerAsync if of == "sync" else BlinkerAwaiting)()


def by_pluggy(colour: Colour, of: Colour, hook: Any, body: Function) -> Any:
    """Return an object whose `reply` calls one hook before `body` and one after."""

    class Pluggy:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for patch in hook.pre_reply(agent=self, msg=msg, temperature=temperature):
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = body(self, msg, temperature)
            for new in hook.post_reply(agent=self, result=result):
                result = new
            return result

    class PluggyAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for patch in hook.pre_reply(agent=self, msg=msg, temperature=temperature):
                msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for new in hook.post_reply(agent=self, result=result):
                result = new
            return result

    class PluggyAwaiting:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            for coming in hook.pre_reply(agent=self, msg=msg, temperature=temperature):
                if (patch := await coming) is not None:
                    msg, temperature = patch.get("msg", msg), patch.get("temperature", temperature)
            result = await body(self, msg, temperature)
            for coming in hook.post_reply(agent=self, result=result):
                if (new := await coming) is not None:
                    result = new
            return result

    return (Pluggy if colour == "sync" else PluggyAsync if of == "sync" else PluggyAwaiting)()


def pass_on(agent: Any) -> Any:
    """Do as a wrapper in pluggy what an around that only passes on does."""
    return (yield)


def wrapped_by_pluggy(depth: int, body: Function) -> Any:
    """Return an object whose `reply` is a hook with so many wrappers, `pass_on`, around `body`."""

    def run(agent: Any, msg: Any, temperature: float) -> Any:
        return body(agent, msg, temperature)

    hook = manager([pass_on] * depth, run_reply=[run])

    class Wrapped:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return hook.run_reply(agent=self, msg=msg, temperature=temperature)

    return Wrapped()


def observed_by_blinker(signal: Signal, body: Function) -> Any:
    """Return an object whose `reply` lets every receiver run side by side first."""

    class Observed:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            await asyncio.gather(
                *(coming for _, coming in signal.send(self, _async_wrapper=lambda f: f, msg=msg))
            )
            return await body(self, msg, temperature)

    return Observed()


def observed_by_pluggy(hook: Any, body: Function) -> Any:
    """Return an object whose `reply` lets every implementation run side by side first."""

    class Observed:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            await asyncio.gather(*hook.saw_reply(agent=self, msg=msg))
            return await body(self, msg, temperature)

    return Observed()
