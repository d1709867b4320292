"""Strands: callbacks of typed events, and middleware of a stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookRegistry
from strands.middleware._registry import MiddlewareRegistry
from strands.middleware.stages import ExecuteToolStage

from tests.bench.calls import method
from tests.bench.harness import Case, Expect
from tests.bench.parts import BODY, CHANGED, RESULT, Colour, Function

from . import floors


def hooked(colour: Colour, pres: Sequence[Function], posts: Sequence[Function]) -> Any:
    """Return an object whose `reply` fires the events around a tool call, as its executor does."""
    registry, body = HookRegistry(), BODY[colour]
    for pre in pres:
        registry.add_callback(BeforeToolCallEvent, pre)
    for post in reversed(posts):
        registry.add_callback(AfterToolCallEvent, post)

    def before(agent: Any, msg: Any, temperature: float) -> Any:
        tool_use = {
            "name": "reply", "toolUseId": "1", "input": {"msg": msg, "temperature": temperature},
        }  # fmt: skip
        return BeforeToolCallEvent(
            agent=agent, selected_tool=None, tool_use=tool_use, invocation_state={}
        )

    def after(agent: Any, tool_use: Any, result: Any) -> Any:
        return AfterToolCallEvent(
            agent=agent, selected_tool=None, tool_use=tool_use, invocation_state={}, result=result
        )

    class Strands:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            event, _ = registry.invoke_callbacks(before(self, msg, temperature))
            result = body(self, **event.tool_use["input"])
            return registry.invoke_callbacks(after(self, event.tool_use, result))[0].result

    class StrandsAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            event, _ = await registry.invoke_callbacks_async(before(self, msg, temperature))
            result = await body(self, **event.tool_use["input"])
            return (await registry.invoke_callbacks_async(after(self, event.tool_use, result)))[
                0
            ].result

    return (Strands if colour == "sync" else StrandsAsync)()


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    found: dict[str, Callable[[], dict[str, Case]]] = {"P4 async": five_deep}
    mixes: tuple[tuple[str, Colour, Colour], ...] = (
        ("sync", "sync", "sync"), ("async", "async", "sync"),
        ("async, async receivers", "async", "async"),
    )  # fmt: skip
    for name, colour, of in mixes:
        found[f"P1 {colour}"] = partial(idle, colour)
        found[f"P2 {name}"] = partial(one_and_one, colour, of)
        found[f"P3 {name}"] = partial(five_and_five, colour, of)
    return found


def pre(of: Colour, changes: bool = False) -> Function:
    def pre(event: Any) -> None:
        if changes:
            event.tool_use["input"]["msg"] += "!"

    async def apre(event: Any) -> None:
        if changes:
            event.tool_use["input"]["msg"] += "!"

    return pre if of == "sync" else apre


def post(of: Colour, changes: bool = False) -> Function:
    def post(event: Any) -> None:
        if changes:
            event.result = {**event.result, "seen": True}

    async def apost(event: Any) -> None:
        if changes:
            event.result = {**event.result, "seen": True}

    return post if of == "sync" else apost


def idle(colour: Colour) -> dict[str, Case]:
    return {
        "by hand": floors.bare(colour),
        "strands": method(hooked(colour, [], []), Expect(0, RESULT)),
    }


def one_and_one(colour: Colour, of: Colour) -> dict[str, Case]:
    before, after = pre(of), post(of)
    case = method(hooked(colour, [before], [after]), Expect(2, RESULT), before, after)
    return {"by hand": floors.one_and_one(colour, of), "strands": case}


def five_and_five(colour: Colour, of: Colour) -> dict[str, Case]:
    pres, posts = (
        [pre(of, place == 2) for place in range(5)],
        [post(of, place == 2) for place in range(5)],
    )
    case = method(hooked(colour, pres, posts), Expect(10, CHANGED), *pres, *posts)
    return {"by hand": floors.five_and_five(colour, of), "strands": case}


def five_deep() -> dict[str, Case]:
    def layer() -> Function:
        async def passes_on(context: Any, next_fn: Function) -> Any:
            async for event in next_fn(context):
                yield event

        return passes_on

    layers, registry = [layer() for _ in range(5)], MiddlewareRegistry()
    for passes_on in layers:
        registry.add_middleware(ExecuteToolStage, passes_on)

    async def terminal(context: Any) -> Any:
        yield await BODY["async"](None, **context["input"])

    class Strands:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            context = {
                "name": "reply", "toolUseId": "1",
                "input": {"msg": msg, "temperature": temperature},
            }  # fmt: skip
            async for event in registry.invoke(ExecuteToolStage, context, terminal):
                last = event
            return last

    return {
        "by hand": floors.five_deep("async"),
        "strands": method(Strands(), Expect(5, RESULT), *layers),
    }
