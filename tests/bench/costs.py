"""The cost of optional features: the second half of the table.

Every case is measured against the bare method of its kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from hookbus import Bus, hookable

from .agents import hooked
from .calls import method
from .harness import Case, Expect, Row, fresh
from .parts import BARE, COLOURS, RESULT, Colour, Function, make_around, make_post, make_pre
from .streams import streaming

DEADLINE = 60.0


def rows() -> Iterator[Row]:
    """Yield one row per colour, with many cases each."""
    for colour in COLOURS:
        yield Row(
            f"costs {colour}", f"one call of a method, {colour}", partial(switched_on, colour)
        )
    yield Row("costs side by side", "observers of an async method", observing)
    for colour in COLOURS:
        yield Row(f"costs around {colour}", f"around, {colour}", partial(deep, colour))
    for colour in COLOURS:
        kind = "generator" if colour == "sync" else "async generator"
        yield Row(
            f"costs stream {colour}", f"one item of a stream of 1,000, {kind}",
            partial(streaming, colour),
        )  # fmt: skip


def switched_on(colour: Colour) -> dict[str, Case]:
    pre, post, expect = make_pre("sync"), make_post("sync"), Expect(2, RESULT)

    def with_options(options: dict[str, Any], *functions: Function) -> Case:
        before, after = functions or (pre, post)
        return method(
            hooked(colour, pre=[before], post=[after], options=options), expect, before, after
        )

    cases = {
        "bare method": method(BARE[colour](), Expect(0, RESULT), pre, post),
        "hookable, nobody listens": method(hooked(colour), Expect(0, RESULT), pre, post),
        **one_of_each(colour),
        "1 pre + 1 post": with_options({}),
        "1 pre + 1 post, role guard": with_options({"role": "guard"}),
        "1 pre + 1 post, on_error block": with_options({"on_error": "block"}),
        "both ask for ctx": asking_for_ctx(colour),
        "both have when=, a glob": with_globs(colour, pre, post),
        "both have when=, a predicate": with_options({"when": lambda msg: True}),
        "both held weakly": with_options({"weak": True}),
        "both held weakly, methods of the agent": bound(colour),
        "both have timeout=, plain: a worker thread each": on_threads(colour),
        "1 pre, once=, connected anew each call": connecting_each_time(colour, pre),
        "a listener on bus.events, 0 receivers": listening(colour, False, 0),
        "a listener on bus.events, 1 pre + 1 post": listening(colour, False, 1),
        "the same on a Bus(values=True)": listening(colour, True, 1),
    }
    if colour == "async":
        apre, apost = make_pre("async"), make_post("async")
        cases["1 pre + 1 post, async"] = with_options({}, apre, apost)
        cases["both have timeout=, async"] = with_options({"timeout": DEADLINE}, apre, apost)
    return cases


def one_of_each(colour: Colour) -> dict[str, Case]:
    """A guard, a modifier that changes an argument, an observer: each alone."""

    def of(pre: Function, role: str, result: Any = RESULT) -> Case:
        return method(hooked(colour, pre=[pre], options={"role": role}), Expect(1, result), pre)

    return {
        "a guard": of(make_pre("sync"), "guard"),
        "a modifier that changes an argument": of(
            make_pre("sync", changes=True), "modify", {**RESULT, "msg": "hi!"}
        ),
        "an observer": of(make_pre("sync"), "observe"),
    }  # fmt: skip


def asking_for_ctx(colour: Colour) -> Case:
    def pre(agent: Any, ctx: Any) -> Any:
        return None

    def post(agent: Any, ctx: Any) -> Any:
        return None

    return method(hooked(colour, pre=[pre], post=[post]), Expect(2, RESULT), pre, post)


def with_globs(colour: Colour, pre: Function, post: Function) -> Case:
    return method(
        hooked(colour, pre=[pre], post=[post], options={"when": {"msg": "h*"}}), Expect(2, RESULT),
        pre, post,
    )  # fmt: skip


def on_threads(colour: Colour) -> Case:
    """Plain receivers with a deadline run in worker threads; they count themselves."""
    ran = [0]

    def pre(agent: Any, msg: Any) -> Any:
        ran[0] += 1

    def post(agent: Any, result: Any) -> Any:
        ran[0] += 1

    case = method(
        hooked(colour, pre=[pre], post=[post], options={"timeout": DEADLINE}), Expect(2, RESULT)
    )
    return replace(case, tally=lambda: ran[0])


def bound(colour: Colour) -> Case:
    """Receivers that are methods of the sender live and die with it."""
    bus = Bus()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

        def pre(self, agent: Any, msg: Any) -> Any:
            return None

        def post(self, agent: Any, result: Any) -> Any:
            return None

    class AgentAsync(Agent):
        @hookable("reply", bus=bus)
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return {"msg": msg, "temperature": temperature}

    agent = Agent() if colour == "sync" else AgentAsync()
    bus.signal("pre_reply").connect(agent.pre, agent)
    bus.signal("post_reply").connect(agent.post, agent)
    return method(agent, Expect(2, RESULT), agent.pre, agent.post)


def connecting_each_time(colour: Colour, pre: Function) -> Case:
    bus = Bus()
    agent = hooked(colour, bus=bus)
    signal = bus.signal("pre_reply")

    class Once:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            signal.connect(pre, agent, once=True)
            return agent.reply(msg, temperature)

    class OnceAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            signal.connect(pre, agent, once=True)
            return await agent.reply(msg, temperature)

    return method(Once() if colour == "sync" else OnceAsync(), Expect(1, RESULT), pre)


def listening(colour: Colour, values: bool, each: int) -> Case:
    """The listener runs twice a call, for Started and Finished."""

    def listener(bus: Any, event: Any) -> None:
        return None

    pres, posts, bus = [make_pre("sync")] * each, [make_post("sync")] * each, Bus(values=values)
    bus.events.connect(listener)
    return method(
        hooked(colour, bus=bus, pre=pres, post=posts), Expect(2 + 2 * each, RESULT), listener,
        *pres, *posts,
    )  # fmt: skip


def observing() -> dict[str, Case]:
    async def looks(agent: Any, msg: Any) -> None:
        return None

    async def waits_and_looks(agent: Any, msg: Any) -> None:
        await asyncio.sleep(0)

    def of(number: int, function: Function) -> Case:
        agent = hooked(
            "async", options={"role": "observe"}, pre=[fresh(function) for _ in range(number)]
        )
        return method(agent, Expect(number, RESULT), function)

    cases = {"bare method": method(BARE["async"](), Expect(0, RESULT), looks)}
    cases |= {f"{number} async side by side": of(number, looks) for number in (1, 2, 5, 10, 100)}
    cases |= {
        f"{number} async side by side, each waits once": of(number, waits_and_looks)
        for number in (1, 10, 100)
    }
    return cases


def deep(colour: Colour) -> dict[str, Case]:
    cases = {"bare method": method(BARE[colour](), Expect(0, RESULT), make_around(colour))}
    for depth in (1, 2, 3, 5, 10):
        arounds = [make_around(colour) for _ in range(depth)]
        cases[f"{depth} deep"] = method(
            hooked(colour, around=arounds), Expect(depth, RESULT), arounds[0]
        )
    return cases
