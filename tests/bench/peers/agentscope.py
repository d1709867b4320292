"""AgentScope 1.x: each hook gets a deep copy of the arguments; middleware of a toolkit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agentscope.agent import AgentBase
from agentscope.tool._toolkit import _apply_middlewares

from tests.bench.calls import hundred, method
from tests.bench.harness import Case, Expect
from tests.bench.parts import CHANGED, RESULT, BareAsync, Colour, Function, payload

from . import floors


class Agent(AgentBase):
    async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        return {"msg": msg, "temperature": temperature}


class Waiting(AgentBase):
    async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        await asyncio.sleep(0)
        return {"msg": msg, "temperature": temperature}


class BareWaiting:
    async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        await asyncio.sleep(0)
        return {"msg": msg, "temperature": temperature}


class Toolkit:
    """The chain that `Toolkit.call_tool_function` runs, around a tool that returns one item."""

    def __init__(self, middlewares: Sequence[Function]) -> None:
        self._middlewares = list(middlewares)

    @_apply_middlewares
    async def call(self, tool_call: dict[str, Any]) -> Any:
        async def results() -> Any:
            yield await BareAsync.reply(self, **tool_call["input"])

        return results()

    async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
        async for result in self.call(
            {"name": "reply", "input": {"msg": msg, "temperature": temperature}}
        ):
            last = result
        return last


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    return {
        "P1 async": lambda: {
            "by hand": floors.bare("async"),
            "agentscope": hooked(Expect(0, RESULT), [], []),
        },
        "P2 async": lambda: one_and_one("sync"),
        "P2 async, async receivers": lambda: one_and_one("async"),
        "P3 async": lambda: five_and_five("sync"),
        "P3 async, async receivers": lambda: five_and_five("async"),
        "P4 async": five_deep,
        "P7 async": large_and_small,
        "P8": overlapping,
    }


def connected(agent: Any, pres: Sequence[Function], posts: Sequence[Function]) -> Any:
    for kind, hooks in (("pre_reply", pres), ("post_reply", posts)):
        for place, hook in enumerate(hooks):
            agent.register_instance_hook(kind, f"hook {place}", hook)
    return agent


def hooked(
    expect: Expect, pres: Sequence[Function], posts: Sequence[Function],
    args: tuple[Any, Any] = ("hi", 0.7),
) -> Case:  # fmt: skip
    return method(connected(Agent(), pres, posts), expect, *pres, *posts, args=args)


def pre(of: Colour, changes: bool = False) -> Function:
    def pre(agent: Any, kwargs: dict[str, Any]) -> Any:
        return {**kwargs, "msg": kwargs["msg"] + "!"} if changes else None

    async def apre(agent: Any, kwargs: dict[str, Any]) -> Any:
        return {**kwargs, "msg": kwargs["msg"] + "!"} if changes else None

    return pre if of == "sync" else apre


def post(of: Colour, changes: bool = False) -> Function:
    def post(agent: Any, kwargs: dict[str, Any], output: Any) -> Any:
        return {**output, "seen": True} if changes else None

    async def apost(agent: Any, kwargs: dict[str, Any], output: Any) -> Any:
        return {**output, "seen": True} if changes else None

    return post if of == "sync" else apost


def one_and_one(of: Colour) -> dict[str, Case]:
    return {
        "by hand": floors.one_and_one("async", of),
        "agentscope": hooked(Expect(2, RESULT), [pre(of)], [post(of)]),
    }


def five_and_five(of: Colour) -> dict[str, Case]:
    pres, posts = (
        [pre(of, place == 2) for place in range(5)],
        [post(of, place == 2) for place in range(5)],
    )
    return {
        "by hand": floors.five_and_five("async", of),
        "agentscope": hooked(Expect(10, CHANGED), pres, posts),
    }


def five_deep() -> dict[str, Case]:
    def middleware() -> Function:
        async def passes_on(kwargs: dict[str, Any], next_handler: Function) -> Any:
            async for result in await next_handler(**kwargs):
                yield result

        return passes_on

    layers = [middleware() for _ in range(5)]
    return {
        "by hand": floors.five_deep("async"),
        "agentscope": method(Toolkit(layers), Expect(5, RESULT), *layers),
    }


def large_and_small() -> dict[str, Case]:
    large, pres, posts = payload(), [pre("sync")], [post("sync")]
    small = hooked(Expect(2, RESULT), pres, posts)
    case = hooked(Expect(2, {**RESULT, "msg": large}), pres, posts, args=(large, 0.7))
    return {"agentscope, small": small, "agentscope": replace(case, against="agentscope, small")}


def overlapping() -> dict[str, Case]:
    pres, posts = [pre("sync")], [post("sync")]
    agent = connected(Waiting(), pres, posts)
    return {"by hand": hundred(BareWaiting(), 0), "agentscope": hundred(agent, 200, *pres, *posts)}
