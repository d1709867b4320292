"""What Agno's users rely on, on the real package: before `install`, on hookbus, heard or not, and
after `uninstall`.

Each test is the same in all of them; that it passes before says that it describes Agno and not the
adapter.
"""

import asyncio
import inspect

import pytest
from agno.run.base import RunContext
from agno.tools.function import Function, FunctionCall

from . import agno_states as parts
from .agno_states import called, value_of

state = parts.state
logged = parts.logged
execute = parts.execute


def test_agno_P1_the_first_hook_is_outermost():
    ran = []

    def noting(name):
        def hook(func, args):
            ran.append(f"{name} before")
            result = func(**args)
            ran.append(f"{name} after")
            return f"{result} {name}"

        return hook

    _, done = called(
        lambda fc: fc.execute(), lambda x: ran.append("tool") or x, {"x": 1},
        tool_hooks=[noting("a"), noting("b")],
    )  # fmt: skip
    assert ran == ["a before", "b before", "tool", "b after", "a after"]
    assert (done.status, done.result) == ("success", "1 b a")


async def test_agno_P1_the_first_hook_is_outermost_in_async_calls_too():
    ran = []

    def noting(name):
        async def hook(func, args):
            ran.append(f"{name} before")
            result = await func(**args)
            ran.append(f"{name} after")
            return f"{result} {name}"

        return hook

    async def tool(x):
        ran.append("tool")
        return x

    function = Function(name="tool", entrypoint=tool, tool_hooks=[noting("a"), noting("b")])
    done = await FunctionCall(function=function, arguments={"x": 1}).aexecute()
    assert ran == ["a before", "b before", "tool", "b after", "a after"] and done.result == "1 b a"


def test_agno_P2_arguments_of_hooks_are_filled_by_name(execute):
    seen, agent, context = {}, object(), RunContext(run_id="r", session_id="s")

    def all_of_them(
        function_call, arguments, agent, func, team, name, args, run_context, function,
        function_name, **others,
    ):  # fmt: skip
        seen.update(locals())
        return func(**args)

    def few(func, args):
        return func(**args)

    function = Function(name="tool", entrypoint=lambda x: x, tool_hooks=[all_of_them, few])
    function._agent, function._run_context = agent, context
    done = execute(FunctionCall(function=function, arguments={"x": 1}))
    assert (done.status, done.result) == ("success", 1)
    assert seen["name"] == seen["function_name"] == "tool"
    assert seen["func"] is seen["function"] is seen["function_call"]
    assert seen["args"] is seen["arguments"] and seen["args"] == {"x": 1}
    assert (
        seen["agent"] is agent
        and seen["team"] is None
        and seen["run_context"] is context
        and seen["others"] == {}
    )


def test_agno_P2_a_name_it_does_not_know_is_not_filled(execute):
    bodies = []
    _, done = called(
        execute, lambda x: bodies.append(x), {"x": 1},
        tool_hooks=[lambda func, args, color: func(**args)],
    )  # fmt: skip
    assert done.status == "failure" and "color" in done.error and bodies == []
    _, done = called(
        execute, lambda x: x, {"x": 1}, tool_hooks=[lambda func, args, color="red": color]
    )
    assert (done.status, done.result) == ("success", "red")


def test_agno_P3_next_takes_keywords_that_the_next_hook_sees_and_may_be_skipped_or_repeated():
    seen, bodies = [], []

    def outer(func, args):
        func(**args, extra=1)
        with pytest.raises(TypeError):
            func({"x": 1})
        return func(**args)

    def inner(func, args):
        seen.append(args)
        return func(**args)

    _, done = called(
        lambda fc: fc.execute(), lambda x: bodies.append(x) or len(bodies), {"x": 1},
        tool_hooks=[outer, inner],
    )  # fmt: skip
    assert seen == [{"x": 1, "extra": 1}, {"x": 1}] and bodies == [1, 1] and done.result == 2
    _, done = called(
        lambda fc: fc.execute(), lambda x: bodies.append(x), {"x": 1},
        tool_hooks=[lambda args: "instead"],
    )  # fmt: skip
    assert done.result == "instead" and len(bodies) == 2
    _, done = called(
        lambda fc: fc.execute(), lambda x: x, {"x": 1},
        tool_hooks=[lambda func, args: func(**args) and None],
    )  # fmt: skip
    assert (done.status, done.result) == ("success", None)


async def test_agno_P3_next_may_be_repeated_in_async_calls_side_by_side_too():
    seen = []

    async def twice(func, args):
        return await asyncio.gather(func(**args, n=1), func(**args, n=2))

    async def inner(func, args):
        await asyncio.sleep(0)
        seen.append(args["n"])
        return await func(**args)

    async def tool(x):
        await asyncio.sleep(0)
        return x

    function = Function(name="tool", entrypoint=tool, tool_hooks=[twice, inner])
    done = await FunctionCall(function=function, arguments={"x": 7}).aexecute()
    assert done.result == [7, 7] and sorted(seen) == [1, 2]


def test_agno_P4_what_the_outermost_hook_changes_in_place_reaches_the_tool(execute):
    def change(func, args):
        args["x"] = 99
        args["more"].append(2)
        return func(**args)

    hooks = [change, lambda func, args: func(**args)]
    fc, done = called(execute, lambda x, more: (x, more), {"x": 1, "more": [1]}, tool_hooks=hooks)
    assert done.result == (99, [1, 2]) and fc.arguments == {"x": 99, "more": [1, 2]}


def test_agno_P4_where_the_call_had_no_arguments_there_is_nothing_to_change(execute):
    def change(func, args):
        args["x"] = 99
        return func(**args)

    for nothing in (None, {}):
        _, done = called(execute, lambda x=0: x, nothing, tool_hooks=[change])
        assert done.result == 0


def test_agno_P5_what_is_given_to_next_does_not_reach_the_tool(execute):
    seen = []

    def change(func, args):
        return func(**{**args, "x": 99})

    def inner(func, args):
        seen.append(dict(args))
        args["x"] = 100
        return func(**args)

    def tool(x, run_context=None):
        return x, run_context

    context = RunContext(run_id="r", session_id="s")
    function = Function(name="tool", entrypoint=tool, tool_hooks=[change, inner])
    function._run_context = context
    done = execute(FunctionCall(function=function, arguments={"x": 1}))
    assert seen == [{"x": 99}] and done.result[0] == 1 and done.result[1] is context


def test_agno_P6_a_plain_call_goes_past_async_hooks_and_logs_it(logged):
    ran = []

    async def guard(func, args):
        ran.append("guard")
        return "BLOCKED"

    _, done = called(
        lambda fc: fc.execute(), lambda x: x, {"x": 1},
        tool_hooks=[guard, lambda func, args: func(**args) + 1],
    )  # fmt: skip
    assert (done.status, done.result) == ("success", 2) and ran == []
    assert (
        logged.count("Cannot use async hooks with sync function calls. Skipping hook: guard") == 1
    )


async def test_agno_P7_next_is_a_coroutine_function_and_what_a_plain_hook_returns_is_awaited():
    kinds = []

    async def outer(func, args):
        kinds.append(inspect.iscoroutinefunction(func))
        return await value_of(await func(**args))

    def plain(func, args):
        kinds.append(inspect.iscoroutinefunction(func))
        return func(**args)

    async def tool(x):
        return x

    for entrypoint in (tool, lambda x: x):
        function = Function(name="tool", entrypoint=entrypoint, tool_hooks=[outer, plain])
        done = await FunctionCall(function=function, arguments={"x": 5}).aexecute()
        assert (done.status, done.result) == ("success", 5)
    assert kinds == [True] * 4


async def test_agno_P7_generators_come_out_as_they_are_and_a_hook_may_be_one():
    async def items(n):
        for each in range(n):
            yield each

    def plain_items(n):
        yield from range(n)

    async def passing(func, args):
        return await func(**args)

    async def doubling(func, args):
        async for each in await func(**args):
            yield each * 2

    def is_run(function):
        return FunctionCall(function=function, arguments={"n": 3}).aexecute()

    done = await is_run(Function(name="tool", entrypoint=items, tool_hooks=[passing]))
    assert inspect.isasyncgen(done.result) and [each async for each in done.result] == [0, 1, 2]
    done = await is_run(Function(name="tool", entrypoint=plain_items, tool_hooks=[passing]))
    assert inspect.isgenerator(done.result) and list(done.result) == [0, 1, 2]
    done = await is_run(Function(name="tool", entrypoint=items, tool_hooks=[doubling]))
    assert inspect.isasyncgen(done.result) and [each async for each in done.result] == [0, 2, 4]


def test_agno_P7_a_hook_of_a_plain_call_may_be_a_generator():
    def items(n):
        yield from range(n)

    def doubling(func, args):
        for each in func(**args):
            yield each * 2

    _, done = called(lambda fc: fc.execute(), items, {"n": 3}, tool_hooks=[doubling])
    assert inspect.isgenerator(done.result) and list(done.result) == [0, 2, 4]
    _, done = called(
        lambda fc: fc.execute(), items, {"n": 3},
        tool_hooks=[lambda func, args: list(func(**args)), doubling],
    )  # fmt: skip
    assert done.result == [0, 2, 4]
