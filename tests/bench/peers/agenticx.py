"""AgenticX: classes of async hooks around a tool call at run time, and lists of sync functions in
its core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agenticx.core.hooks.tool_hooks import (
    execute_after_tool_call_hooks,
    execute_before_tool_call_hooks,
)
from agenticx.core.hooks.types import ToolCallHookContext
from agenticx.runtime.hooks import AgentHook, HookRegistry

from tests.bench.calls import method
from tests.bench.harness import Case, Expect
from tests.bench.parts import CHANGED, RESULT, Bare, BareAsync, Function

from . import floors


class Passing(AgentHook):  # type: ignore[misc]
    async def before_tool_call(
        self, tool_name: str, arguments: dict[str, Any], session: Any
    ) -> Any:
        return None

    async def after_tool_call(self, tool_name: str, result: Any, session: Any) -> Any:
        return None


class Changing(Passing):
    """It changes the result in place: it may return only text."""

    async def before_tool_call(
        self, tool_name: str, arguments: dict[str, Any], session: Any
    ) -> Any:
        arguments["msg"] += "!"

    async def after_tool_call(self, tool_name: str, result: Any, session: Any) -> Any:
        result["seen"] = True


RUNTIME = (
    Passing.before_tool_call, Passing.after_tool_call, Changing.before_tool_call,
    Changing.after_tool_call,
)  # fmt: skip


def with_runtime(hooks: Sequence[Any], expect: Expect) -> Case:
    registry = HookRegistry()
    for hook in hooks:
        registry.register(hook)

    class Runtime:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            arguments = {"msg": msg, "temperature": temperature}
            outcome = await registry.run_before_tool_call("reply", arguments, None)
            if outcome.blocked:
                raise PermissionError(outcome.reason)
            result = await BareAsync.reply(self, **arguments)  # type: ignore[arg-type]
            return await registry.run_after_tool_call("reply", result, None)

    return method(Runtime(), expect, *RUNTIME)


def with_core(pres: list[Function], posts: list[Function], expect: Expect) -> Case:
    class Core:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            arguments = {"msg": msg, "temperature": temperature}
            context = ToolCallHookContext(agent_id="1", tool_name="reply", tool_args=arguments)
            if not execute_before_tool_call_hooks(context, pres):
                raise PermissionError("blocked")
            context.result = Bare.reply(self, **context.tool_args)  # type: ignore[arg-type]
            execute_after_tool_call_hooks(context, posts)
            return context.result

    return method(Core(), expect, *pres, *posts)


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    return {
        "P1 sync": lambda: {
            "by hand": floors.bare("sync"), "agenticx": with_core([], [], Expect(0, RESULT)),
        },
        "P1 async": lambda: {
            "by hand": floors.bare("async"), "agenticx": with_runtime([], Expect(0, RESULT)),
        },
        "P2 sync": partial(sync_receivers, 1),
        "P2 async, async receivers": lambda: {
            "by hand": floors.one_and_one("async", "async"),
            "agenticx": with_runtime([Passing()], Expect(2, RESULT)),
        },
        "P3 sync": partial(sync_receivers, 5),
        "P3 async, async receivers": lambda: {
            "by hand": floors.five_and_five("async", "async"),
            "agenticx": with_runtime(
                [Changing() if place == 2 else Passing() for place in range(5)],
                Expect(10, CHANGED),
            ),
        },
    }  # fmt: skip


def sync_receivers(number: int) -> dict[str, Case]:
    def pre(changes: bool) -> Function:
        def before(context: Any) -> bool:
            if changes:
                context.tool_args["msg"] += "!"
            return True

        return before

    def post(changes: bool) -> Function:
        def after(context: Any) -> bool:
            if changes:
                context.result = {**context.result, "seen": True}
            return True

        return after

    pres, posts = (
        [pre(place == 2) for place in range(number)],
        [post(place == 2) for place in range(number)],
    )
    case = with_core(pres, posts, Expect(2 * number, CHANGED if number == 5 else RESULT))
    floor = floors.five_and_five if number == 5 else floors.one_and_one
    return {"by hand": floor("sync", "sync"), "agenticx": case}
