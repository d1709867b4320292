"""Agno's defects are cured on the real package with `install(strict=True)`; where the default cures
one too, it says so."""

import asyncio
import functools

import pytest
from agno.agent import Agent
from agno.exceptions import InputCheckError, StopAgentRun
from agno.guardrails.base import BaseGuardrail
from agno.hooks import hook as hook_decorator
from agno.team import Team
from agno.tools.function import Function, FunctionCall

from hookbus import Block, HookError, explain
from hookbus.events import Failed, Finished, Started
from hookbus.testing import record

from . import agno_settings as parts
from .agno_parts import ScriptedModel
from .agno_settings import executed, fc_of, in_a_run

strict = parts.strict


async def aexecuted(*args, **options):
    return await fc_of(*args, **options).aexecute()


async def ablock(func, args):
    await asyncio.sleep(0)
    return "BLOCKED"


class AsyncCallable:
    async def __call__(self, func, args):
        await asyncio.sleep(0)
        return "BLOCKED"


# -- what next is given ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{"x": 1}, {}, None])
async def test_agno_AG1_what_is_given_to_next_is_what_the_tool_and_inner_hooks_get(
    strict, bus, arguments
):
    seen = []
    bus.signal("pre_tool_call").connect(
        lambda function, arguments: seen.append(("guard", arguments.get("x"))),
        role="guard", name="look",
    )  # fmt: skip

    def change(func, args):
        return func(**{**args, "x": 99})

    def inner(func, args):
        seen.append(("inner", args["x"]))
        return func(**args)

    def tool(x=0):
        return x

    fc = fc_of(tool, arguments, tool_hooks=[change, inner])
    assert fc.execute().result == 99 and fc.arguments == {"x": 99}
    assert seen[1:] == [("inner", 99), ("guard", 99)]
    assert (await aexecuted(tool, arguments, tool_hooks=[change, inner])).result == 99

    async def achange(func, args):
        return await func(**{**args, "x": 99})

    assert (await aexecuted(tool, arguments, tool_hooks=[achange, inner])).result == 99


def test_agno_AG1_what_is_left_out_of_next_is_left_out_of_the_call(strict):
    def careful(func, args):
        return func(**{name: value for name, value in args.items() if name != "force"})

    assert (
        executed(lambda force=False: force, {"force": True}, tool_hooks=[careful]).result is False
    )


# -- async hooks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "guard",
    [ablock, AsyncCallable(), functools.partial(ablock), lambda func, args: ablock(func, args)],
    ids=["function", "object", "partial", "lambda"],
)
def test_agno_AG2_the_tool_does_not_run_past_an_async_guard(strict, bus, guard):
    bodies = []
    with record(bus) as fired:
        done = executed(lambda x: bodies.append(x), {"x": 1}, tool_hooks=[guard])
    assert (
        done.status == "failure"
        and "is async and cannot be called in a sync call of tool: use arun()" in done.error
    )
    assert bodies == [] and [event.action for event in fired.of(Failed)] == ["raised"]


@pytest.mark.parametrize(
    "guard",
    [ablock, AsyncCallable(), functools.partial(ablock), lambda func, args: ablock(func, args)],
    ids=["function", "object", "partial", "lambda"],
)
async def test_agno_AG3_whatever_is_async_is_awaited_on_every_async_path(strict, guard):
    bodies = []
    for execute in (FunctionCall.aexecute, in_a_run):
        done = await execute(fc_of(lambda x: bodies.append(x), {"x": 1}, tool_hooks=[guard]))
        assert (done.status, done.result) == ("success", "BLOCKED")
    assert bodies == []


@pytest.mark.parametrize(
    "make", [Agent, functools.partial(Team, members=[])], ids=["agent", "team"]
)
def test_agno_AG3_an_async_object_guards_a_run(strict, make):
    class Refuses:
        async def __call__(self, run_input):
            await asyncio.sleep(0)
            raise InputCheckError("not this")

    asked = []
    owner = make(model=ScriptedModel(asked.append), pre_hooks=[Refuses()])
    assert asyncio.run(owner.arun("hi")).content == "not this"
    assert "failed: TypeError" in owner.run("hi").content and asked == []


async def test_agno_AG4_an_async_pre_hook_guards_a_plain_tool_in_an_async_run(strict):
    bodies = []

    async def guard(fc):
        await asyncio.sleep(0)
        raise PermissionError("not you")

    done = await in_a_run(fc_of(lambda x: bodies.append(x), {"x": 1}, pre_hook=guard))
    assert done.status == "failure" and "blocked by guard" in done.error and bodies == []
    done = fc_of(lambda x: bodies.append(x), {"x": 1}, pre_hook=guard).execute()
    assert done.status == "failure" and bodies == []


async def test_agno_AG5_partials_run_are_awaited_and_have_a_name(strict, bus):
    async def limited(limit, func, args):
        return f"{limit}: {await func(**args)}"

    def plain(limit, func, args):
        return f"{limit}: {func(**args)}"

    hooks = [functools.partial(limited, 3), functools.partial(plain, 4)]
    function = Function(name="tool", entrypoint=lambda x: x, tool_hooks=hooks)
    assert [row.receiver for row in explain(function.tool_call)] == ["limited", "plain"]
    done = await FunctionCall(function=function, arguments={"x": 1}).aexecute()
    assert done.result == "3: 4: 1"


async def test_agno_AG6_a_plain_hook_of_an_async_call_gets_values_and_never_a_coroutine(strict):
    async def tool(x):
        await asyncio.sleep(0)
        if x < 0:
            raise LookupError("nothing there")
        return x

    def shout(func, args):
        return f"<{func(**args)}>"

    def rescue(func, args):
        try:
            return func(**args)
        except LookupError as error:
            return f"rescued: {error}"

    async def passing(func, args):
        return await func(**args)

    assert (await aexecuted(tool, {"x": 1}, tool_hooks=[shout, passing, shout])).result == "<<1>>"
    assert (
        await aexecuted(tool, {"x": -1}, tool_hooks=[passing, rescue])
    ).result == "rescued: nothing there"
    assert (
        await in_a_run(fc_of(lambda x: x, {"x": 1}, tool_hooks=[shout, passing]))
    ).result == "<1>"


# -- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "execute",
    [lambda fc: fc.execute(), lambda fc: asyncio.run(fc.aexecute())],
    ids=["sync", "async"],
)
def test_agno_AG7_a_pre_hook_that_raises_blocks_and_the_reason_names_it(strict, bus, execute):
    bodies = []

    def policy():
        raise PermissionError("the secret rule")

    with record(bus) as fired:
        done = execute(fc_of(lambda: bodies.append(1), pre_hook=policy))
    assert (
        done.status == "failure"
        and "blocked by policy: modify failed: PermissionError" in done.error
        and bodies == []
    )
    assert "secret rule" not in done.error and isinstance(
        fired.of(Failed)[0].exception, PermissionError
    )


def test_agno_AG7_a_pre_hook_may_say_block(strict, bus):
    done = executed(lambda: "ran", pre_hook=lambda fc: Block("not on Sundays"))
    assert done.status == "failure" and "not on Sundays" in done.error


def test_agno_AG7_what_stops_the_run_still_stops_it(strict):
    def stop():
        raise StopAgentRun("enough")

    with pytest.raises(StopAgentRun, match="enough"):
        executed(lambda: "ran", pre_hook=stop)


@pytest.mark.parametrize(
    "make", [Agent, functools.partial(Team, members=[])], ids=["agent", "team"]
)
def test_agno_AG8_a_wrong_name_is_refused_when_the_agent_is_made(strict, make):
    with pytest.raises(
        HookError,
        match="validate in pre_hooks has a parameter 'runinput', which .* did you mean 'run_input'",
    ):

        def validate(runinput):
            pass

        make(model=ScriptedModel(), pre_hooks=[validate])
    owner = make(model=ScriptedModel())
    owner.pre_hooks = [validate]
    with pytest.raises(HookError, match="has a parameter 'runinput'"):
        owner.run("hi")


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_agno_AG8_a_validator_that_raises_stops_the_run_and_every_event_has_its_end(
    strict, bus, colour
):
    asked = []

    def validate(run_input):
        raise ValueError("a bug")

    agent = Agent(model=ScriptedModel(asked.append), pre_hooks=[lambda: None, validate])
    with record(bus) as fired:
        response = agent.run("hi") if colour == "sync" else asyncio.run(agent.arun("hi"))
    assert (
        response.status.value == "ERROR"
        and response.content == "Pre-hook validate failed: ValueError"
        and asked == []
    )
    assert (
        len(fired.of(Started)) == len(fired.of(Finished)) == 1
        and fired.of(Finished)[0].outcome == "raised"
    )
    assert [event.receiver for event in fired.of(Failed)] == ["validate"]


def test_agno_AG9_a_guardrail_that_cannot_work_is_refused(strict):
    class NoNumbers(BaseGuardrail):
        def check(self, run_input):
            raise InputCheckError("a number")

        async def async_check(self, run_input):
            raise InputCheckError("a number")

    with pytest.raises(
        HookError, match="NoNumbers in post_hooks has a parameter 'run_input', which Agno does"
    ):
        Agent(model=ScriptedModel(), post_hooks=[NoNumbers()])
    assert Agent(model=ScriptedModel(), pre_hooks=[NoNumbers()]).run("4711").content == "a number"


def test_agno_AG10_a_guard_cannot_be_put_into_the_background(strict):
    @hook_decorator(run_in_background=True)
    def guard(run_input):
        raise InputCheckError("too late")

    with pytest.raises(
        HookError, match="guard in pre_hooks can stop a run, but not from the background"
    ):
        Agent(model=ScriptedModel(), pre_hooks=[guard])

    @hook_decorator(run_in_background=True)
    def log(run_input):
        pass

    Agent(model=ScriptedModel(), pre_hooks=[log])
