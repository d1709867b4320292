"""Bub: implementations in a pluggy manager, run one after the other by its own runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pluggy
from bub.hooks.interception import AgentHooks, ToolCall, ToolCallDecision, ToolCallResult
from bub.hooks.runtime import HookRuntime
from bub.hooks.specs import BubHookSpecs

from tests.bench.calls import asking, method
from tests.bench.hand_nested import first_answer
from tests.bench.harness import Case, Expect, fresh
from tests.bench.parts import CHANGED, RESULT, BareAsync, Colour, Function, make_answer

from . import floors

hookimpl = pluggy.HookimplMarker("bub")


def runtime(**impls: Sequence[Function]) -> Any:
    manager = pluggy.PluginManager("bub")
    manager.add_hookspecs(BubHookSpecs)
    for name, functions in impls.items():
        for function in reversed(functions):  # the last that is registered runs first
            manager.register(SimpleNamespace(receiver=hookimpl(specname=name)(fresh(function))))
    return HookRuntime(manager)


def hooked(pres: Sequence[Function], posts: Sequence[Function], expect: Expect) -> Case:
    """Return the case of a tool call with its hooks before and after."""
    hooks = AgentHooks(runtime(before_tool_call=pres, after_tool_call=posts))

    class Agent:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            asked = ToolCall(
                run_id="1", tool="reply", arguments={"msg": msg, "temperature": temperature}
            )
            call, decision = await hooks.before_tool_call(asked, {})
            if decision.action != "proceed":
                raise PermissionError(decision.message)
            result = await BareAsync.reply(self, **call.arguments)  # type: ignore[arg-type]
            outcome = ToolCallResult(
                run_id="1", tool="reply", arguments=call.arguments, result=result
            )
            await hooks.after_tool_call(call, outcome, {})
            return outcome.result

    return method(Agent(), expect, *pres, *posts)


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    return {
        "P1 async": lambda: {
            "by hand": floors.bare("async"),
            "bub": hooked([], [], Expect(0, RESULT)),
        },
        "P2 async": partial(one_and_one, "sync"),
        "P2 async, async receivers": partial(one_and_one, "async"),
        "P3 async": partial(five_and_five, "sync"),
        "P3 async, async receivers": partial(five_and_five, "async"),
        "P5 sync": partial(first_of_ten, "sync"),
        "P5 async": partial(first_of_ten, "async"),
    }


def pre(of: Colour, changes: bool = False) -> Function:
    def before(call: Any) -> Any:
        if changes:
            return ToolCallDecision.proceed({**call.arguments, "msg": call.arguments["msg"] + "!"})
        return None

    async def abefore(call: Any) -> Any:
        if changes:
            return ToolCallDecision.proceed({**call.arguments, "msg": call.arguments["msg"] + "!"})
        return None

    return before if of == "sync" else abefore


def post(of: Colour, changes: bool = False) -> Function:
    def after(call: Any, result: Any) -> None:
        if changes:
            result.result = {**result.result, "seen": True}

    async def aafter(call: Any, result: Any) -> None:
        if changes:
            result.result = {**result.result, "seen": True}

    return after if of == "sync" else aafter


def one_and_one(of: Colour) -> dict[str, Case]:
    return {
        "by hand": floors.one_and_one("async", of),
        "bub": hooked([pre(of)], [post(of)], Expect(2, RESULT)),
    }


def five_and_five(of: Colour) -> dict[str, Case]:
    pres, posts = (
        [pre(of, place == 2) for place in range(5)],
        [post(of, place == 2) for place in range(5)],
    )
    return {
        "by hand": floors.five_and_five("async", of),
        "bub": hooked(pres, posts, Expect(10, CHANGED)),
    }


def first_of_ten(colour: Colour) -> dict[str, Case]:
    receivers = [make_answer(colour, last=place == 9) for place in range(10)]
    hooks = runtime(resolve_session=receivers)

    def ask(message: Any) -> Any:
        return hooks.call_first_sync("resolve_session", message=message)

    async def aask(message: Any) -> Any:
        return await hooks.call_first("resolve_session", message=message)

    expect = Expect(10, "session hi")
    return {
        "by hand": asking(colour, first_answer(colour, receivers), expect, *receivers),
        "bub": asking(colour, ask if colour == "sync" else aask, expect, *receivers),
    }
