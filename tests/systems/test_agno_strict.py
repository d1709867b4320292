"""Agno's defects are cured on the real package with `install(strict=True)`; where the default cures
one too, it says so."""

import asyncio
import functools
import threading
import time

import pytest
from agno.agent import Agent
from agno.exceptions import InputCheckError, StopAgentRun
from agno.guardrails.base import BaseGuardrail
from agno.hooks import hook as hook_decorator
from agno.models.message import Message
from agno.run.base import RunContext
from agno.team import Team
from agno.tools import tool as tool_decorator
from agno.tools.function import Function, FunctionCall

from hookbus import Block, HookError, Replace, explain
from hookbus.adapters import agno
from hookbus.events import Blocked, Failed, Finished, Mutated, Started
from hookbus.exceptions import HookWarning
from hookbus.testing import record

from .agno_parts import ScriptedModel


@pytest.fixture
def strict(bus):
    uninstall = agno.install(bus, strict=True)
    yield
    uninstall()


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def either(bus, request):
    uninstall = agno.install(bus, strict=request.param)
    yield request.param
    uninstall()


def fc_of(entrypoint, arguments=None, **options):
    return FunctionCall(
        function=Function(name="tool", entrypoint=entrypoint, **options), arguments=arguments
    )


def executed(*args, **options):
    return fc_of(*args, **options).execute()


async def aexecuted(*args, **options):
    return await fc_of(*args, **options).aexecute()


async def in_a_run(fc):
    """Execute a call as an async run does."""
    return (await ScriptedModel().arun_function_call(fc))[3]


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
        lambda function, args: seen.append(("guard", args.get("x"))), role="guard", name="look"
    )

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
        and "is async and cannot be asked in a plain call of tool: use arun()" in done.error
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
        match="validate in pre_hooks asks for 'runinput', which .* did you mean 'run_input'",
    ):

        def validate(runinput):
            pass

        make(model=ScriptedModel(), pre_hooks=[validate])
    owner = make(model=ScriptedModel())
    owner.pre_hooks = [validate]
    with pytest.raises(HookError, match="asks for 'runinput'"):
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
        HookError, match="NoNumbers in post_hooks asks for 'run_input', which it does not get"
    ):
        Agent(model=ScriptedModel(), post_hooks=[NoNumbers()])
    assert Agent(model=ScriptedModel(), pre_hooks=[NoNumbers()]).run("4711").content == "a number"


def test_agno_AG10_a_guard_cannot_be_put_into_the_background(strict):
    @hook_decorator(run_in_background=True)
    def guard(run_input):
        raise InputCheckError("too late")

    with pytest.raises(
        HookError, match="guard in pre_hooks can stop a run, and cannot from the background"
    ):
        Agent(model=ScriptedModel(), pre_hooks=[guard])

    @hook_decorator(run_in_background=True)
    def log(run_input):
        pass

    Agent(model=ScriptedModel(), pre_hooks=[log])


# -- after the tool --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "execute",
    [lambda fc: fc.execute(), lambda fc: asyncio.run(fc.aexecute())],
    ids=["sync", "async"],
)
def test_agno_AG11_post_hook_runs_however_the_call_ends_and_its_result_is_what_the_caller_gets(
    strict, bus, execute
):
    ran = []

    def post(fc):
        ran.append(fc.error)
        fc.result = "redacted"

    def stops():
        raise StopAgentRun("enough")

    def fails():
        raise LookupError("nothing")

    assert execute(fc_of(lambda: "a secret", post_hook=post)).result == "redacted"
    assert execute(fc_of(fails, post_hook=post)).status == "failure"
    assert execute(fc_of(lambda: 1, pre_hook=fails, post_hook=post)).status == "failure"
    with pytest.raises(StopAgentRun):
        execute(fc_of(lambda: 1, pre_hook=stops, post_hook=post))
    bus.signal("pre_tool_call").connect(lambda function: Block("no"), role="guard", name="no")
    assert execute(fc_of(lambda: 1, post_hook=post)).error == "tool_call was blocked by no: no"
    assert [str(error).split(":")[0] for error in ran] == [
        "None", "nothing", "tool_start was blocked by fails", "enough",
        "tool_call was blocked by no",
    ]  # fmt: skip


def test_agno_AG11_finally_receivers_run_on_every_exit(either, bus):
    outcomes = []
    bus.signal("finally_tool_call").connect(
        lambda function, ctx: outcomes.append(ctx.outcome), name="end"
    )

    def fails():
        raise LookupError("nothing")

    executed(lambda: 1)
    executed(fails)
    with bus.signal("pre_tool_call").connected_to(lambda function: Block("no"), role="guard"):
        executed(lambda: 1)
    with bus.signal("pre_tool_call").connected_to(lambda function: Replace("cached")):
        assert executed(lambda: 1).result == "cached"
    assert outcomes == ["returned", "raised", "blocked", "replaced"]


def test_agno_AG12_what_only_watches_cannot_make_a_success_a_failure(strict, bus):
    def log(fc):
        raise OSError("the disk is full")

    bus.signal("post_tool_call").connect(
        lambda function, result: 1 / 0, role="observe", name="watch"
    )
    with record(bus) as fired:
        done = executed(lambda: "ok", post_hook=log)
    assert (done.status, done.result) == ("success", "ok")
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [
        ("watch", "isolated"),
        ("log", "isolated"),
    ]


@pytest.mark.parametrize(
    "execute",
    [lambda fc: fc.execute(), lambda fc: asyncio.run(fc.aexecute())],
    ids=["sync", "async"],
)
def test_agno_AG13_a_hook_that_forgets_to_return_is_reported(strict, bus, execute):
    def forgetful(func, args):
        func(**args)

    with (
        record(bus) as fired,
        pytest.warns(
            HookWarning, match="forgetful called next and returned nothing.*write `return`"
        ),
    ):
        done = execute(fc_of(lambda: "ok", tool_hooks=[forgetful]))
    assert done.result is None
    assert [(event.receiver, event.name, event.before) for event in fired.of(Mutated)] == [
        ("forgetful", "result", "ok")
    ]


@pytest.mark.parametrize("hooks", [[], ["agent's"]])
def test_agno_AG14_hooks_of_an_agent_and_of_its_tools_are_merged(strict, bus, hooks):
    ran = []

    @tool_decorator(tool_hooks=[lambda func, args: ran.append("tool's") or func(**args)])
    def look(path: str) -> str:
        """Look.

        Args:
            path: where.
        """
        return path

    hooks = [lambda func, args, word=word: ran.append(word) or func(**args) for word in hooks]
    agent = Agent(
        model=ScriptedModel(calls=[("look", '{"path": "/a"}')]), tools=[look], tool_hooks=hooks
    )
    agent.run("go")
    assert ran == [*(["agent's"] if hooks else []), "tool's"]
    agent.run("again")
    assert ran[len(ran) // 2 :] == ran[: len(ran) // 2]


def test_agno_AG14_that_a_guard_is_there_can_be_required(either, bus):
    with pytest.raises(HookError):
        bus.require("tool_call")
    bus.signal("pre_tool_call").connect(lambda function: None, role="guard", name="policy")
    bus.require("tool_call")


@pytest.mark.parametrize("how", ["tasks", "threads"])
def test_agno_AG15_calls_at_once_leave_the_messages_as_they_are(either, how):
    context = RunContext(run_id="r", session_id="s", messages=[Message(role="user", content="hi")])
    live, met = context.messages, threading.Barrier(2)

    def make(hook, tool):
        function = Function(
            name="tool", entrypoint=tool, tool_hooks=[hook], pre_hook=lambda run_context: None
        )
        function._run_context = context
        return FunctionCall(function=function)

    if how == "tasks":

        async def ahook(func, args, run_context):
            await asyncio.sleep(0.001)
            run_context.messages.append("mine")
            result = await func(**args)
            await asyncio.sleep(0.001)
            return result

        async def atool():
            return 1

        async def both():
            await asyncio.gather(*(make(ahook, atool).aexecute() for _ in range(4)))

        asyncio.run(both())
    else:

        def hook(func, args, run_context):
            met.wait(10)
            run_context.messages.append("mine")
            return func(**args)

        threads = [threading.Thread(target=make(hook, lambda: 1).execute) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert context.messages is live and len(live) == 1


async def test_agno_AG16_an_async_hook_does_not_bring_a_plain_tool_onto_the_loop(strict):
    where = []

    def tool():
        where.append(threading.current_thread() is threading.main_thread())
        time.sleep(0.01)

    async def hook(func, args):
        return await func(**args)

    await in_a_run(fc_of(tool))
    await in_a_run(fc_of(tool, tool_hooks=[hook]))
    await in_a_run(fc_of(tool, tool_hooks=[hook, lambda func, args: func(**args) and None]))
    assert where == [False] * 3


async def test_agno_AG16_an_async_receiver_can_be_connected_to_plain_tools_too(either, bus):
    where, asked = [], []

    async def guard(function, args):
        await asyncio.sleep(0)
        asked.append(args)

    bus.signal("pre_tool_call").connect(guard, role="guard")

    def shout(func, args):
        return f"<{func(**args)}>"

    done = await in_a_run(
        fc_of(
            lambda x: where.append(threading.current_thread() is threading.main_thread()) or x,
            {"x": 1},
            tool_hooks=[shout],
        )
    )
    assert done.result == "<1>" and where == [False] and asked == [{"x": 1}]


# -- streams ---------------------------------------------------------------------------------------


def streaming(told, fail=False):
    def tool(n):
        for each in range(n):
            told.append(each)
            yield each
        if fail:
            raise LookupError("broken off")

    return tool


def test_agno_AG17_receivers_and_post_hook_come_after_the_last_item(strict, bus):
    told = []
    bus.signal("post_tool_call").connect(
        lambda function: told.append("post"), role="observe", name="post"
    )
    bus.signal("item_tool_call").connect(lambda function, item: item * 10, name="tenfold")
    fc = fc_of(
        streaming(told), {"n": 3}, tool_hooks=[lambda func, args: func(n=2)],
        post_hook=lambda: told.append("post_hook"),
    )  # fmt: skip
    assert list(fc.execute().result) == [0, 10] and told == [0, 1, "post", "post_hook"]


def test_agno_AG17_an_error_in_the_middle_is_seen(strict, bus):
    told = []
    bus.signal("error_tool_call").connect(
        lambda function, error: told.append(str(error)), role="observe", name="error"
    )
    fc = fc_of(
        streaming(told, fail=True),
        {"n": 1},
        post_hook=lambda fc: told.append(("post_hook", fc.error)),
    )
    with pytest.raises(LookupError):
        list(fc.execute().result)
    assert told == [0, "broken off", ("post_hook", "broken off")] and fc.error == "broken off"


async def test_agno_AG17_async_streams_too_and_a_hook_may_be_an_async_generator(strict, bus):
    told = []

    async def tool(n):
        for each in range(n):
            told.append(each)
            yield each

    async def doubling(func, args):
        async for each in await func(**args):
            yield each * 2

    bus.signal("post_tool_call").connect(
        lambda function: told.append("post"), role="observe", name="post"
    )
    fc = fc_of(
        tool, {"n": 3}, tool_hooks=[doubling, lambda func, args: func(**args)],
        post_hook=lambda: told.append("post_hook"),
    )  # fmt: skip
    done = await fc.aexecute()
    assert [each async for each in done.result] == [0, 2, 4] and told == [
        0, 1, 2, "post", "post_hook",
    ]  # fmt: skip


def test_agno_AG17_a_run_with_a_streaming_tool_sees_the_whole_of_it(strict, bus):
    told = []

    def look(n: int):
        """Look.

        Args:
            n: how often.
        """
        yield from streaming(told)(n)

    bus.signal("item_tool_call").connect(lambda function, item: f"[{item}]", name="mark")
    agent = Agent(model=ScriptedModel(calls=[("look", '{"n": 2}')]), tools=[look])
    response = agent.run("go")
    assert response.content == "done" and response.tools[0].result == "[0][1]"


# -- what else was missing -------------------------------------------------------------------------


def test_agno_AG18_what_was_approved_is_what_runs(strict, bus):
    bodies = []

    def rewrite(func, args):
        args["path"] = "/etc"
        return func(**args)

    def approved(**options):
        options |= {
            "entrypoint": lambda path: bodies.append(path) or path,
            "requires_confirmation": True,
        }
        function = Function(name="tool", **options)
        return FunctionCall(function=function, arguments={"path": "/tmp"}).execute()

    def swap(fc):
        fc.arguments = {"path": "/etc"}

    for options in ({"tool_hooks": [rewrite]}, {"pre_hook": swap}):
        done = approved(**options)
        assert (
            done.status == "failure"
            and "was approved with other arguments" in done.error
            and bodies == []
        )
    with bus.signal("pre_tool_call").connected_to(
        lambda function: {"args": {"path": "/etc"}}, name="patch"
    ):
        assert approved().status == "failure" and bodies == []
    assert approved(tool_hooks=[lambda func, args: func(**args)]).result == "/tmp"


def test_agno_AG19_receivers_of_tools_have_priority_filter_once_scope_and_a_handle(either, bus):
    told = []

    def tell(word):
        return lambda function, args: told.append(word)

    signal = bus.signal("pre_tool_call")
    function = Function(name="bash", entrypoint=lambda command: command)
    signal.connect(tell("low"), priority=-1, name="low")
    signal.connect(tell("high"), priority=1, name="high")
    signal.connect(tell("only bash"), when={"name": "bash*"}, name="only bash")
    signal.connect(tell("once"), once=True, name="once")
    handle = signal.connected_to(tell("this tool"), function, name="this tool")
    FunctionCall(function=function, arguments={"command": "ls"}).execute()
    assert told == ["high", "this tool", "only bash", "once", "low"]
    handle.disconnect()
    told.clear()
    executed(lambda: 1)
    assert told == ["high", "low"]
    assert [row.receiver for row in explain(function.tool_call)] == ["high", "only bash", "low"]


def test_agno_AG19_a_receiver_sees_the_tool_and_resumed_calls_are_hooked_too(either, bus):
    seen = []

    @tool_decorator(requires_confirmation=True)
    def delete(path: str) -> str:
        """Delete.

        Args:
            path: which.
        """
        return path

    def look(function, args, call):
        seen.append(
            (function.name, function.requires_confirmation, call.agent is agent, call.fc.arguments)
        )

    bus.signal("pre_tool_call").connect(look, role="observe")
    agent = Agent(model=ScriptedModel(calls=[("delete", '{"path": "/a"}')]), tools=[delete])
    response = agent.run("go")
    assert response.is_paused and seen == []
    response.tools[0].confirmed = True
    agent.continue_run(run_response=response)
    assert seen == [("delete", True, True, {"path": "/a"})]


def test_agno_AG19_runs_are_heard_also_where_the_agent_has_no_hooks(either, bus):
    told = []
    bus.signal("pre_run_input").connect(
        lambda agent, run_input: told.append(run_input.input_content), role="observe", name="in"
    )
    bus.signal("pre_run_output").connect(
        lambda agent, run_output: told.append(run_output.content), role="observe", name="out"
    )
    agent = Agent(model=ScriptedModel())
    agent.run("hi")
    asyncio.run(Team(model=ScriptedModel(), members=[]).arun("ho"))
    assert told == ["hi", "done", "ho", "done"]
    bus.signal("pre_run_output").connect(
        lambda agent: Block("not this"), role="guard", sender=agent, name="no"
    )
    with record(bus) as fired:
        response = agent.run("hi")
    assert (
        response.status.value == "ERROR"
        and "not this" in response.content
        and len(fired.of(Blocked)) == 1
    )
    assert "done" not in response.content


def test_agno_AG20_a_tool_that_nobody_listens_to_runs_as_agno_runs_it(either, monkeypatch):
    began = []
    monkeypatch.setattr(
        "hookbus.adapters.agno._install._Adapter.begin", lambda *args, **how: began.append(args)
    )
    assert executed(lambda x: x, {"x": 1}).result == 1 and began == []


def test_agno_AG20_many_pass_through_hooks_ask_each_once_and_read_no_signature(strict, monkeypatch):
    ran = []
    fc = fc_of(
        lambda: "ok",
        tool_hooks=[lambda func, args, n=n: ran.append(n) or func(**args) for n in range(10)],
    )
    fc.execute()
    ran.clear()
    monkeypatch.setattr(type(fc), "_build_hook_args", None)
    assert fc.execute().result == "ok" and ran == list(range(10))


# -- verdicts of receivers, in either setting ------------------------------------------------------


@pytest.mark.parametrize(
    "execute",
    [lambda fc: fc.execute(), lambda fc: asyncio.run(fc.aexecute())],
    ids=["sync", "async"],
)
def test_whatever_stops_the_start_of_a_tool_stops_the_tool(either, bus, execute):
    bodies = []
    for verdict, result in (
        (Block("no"), None),
        (Block("no", result="x"), "x"),
        (Replace("x"), "x"),
    ):
        role = "guard" if isinstance(verdict, Block) else "modify"
        with bus.signal("pre_tool_start").connected_to(
            lambda function, verdict=verdict: verdict, role=role, name="stop"
        ):
            done = execute(fc_of(lambda: bodies.append(1), tool_hooks=[]))
        assert (done.status, done.result) == (("success" if result else "failure"), result)
        assert bodies == []


@pytest.mark.parametrize(
    "execute",
    [lambda fc: fc.execute(), lambda fc: asyncio.run(fc.aexecute())],
    ids=["sync", "async"],
)
def test_whatever_stops_the_end_of_a_tool_keeps_its_result(either, bus, execute):
    for verdict, result in ((Block("no"), None), (Block("no", result="x"), "x")):
        with bus.signal("pre_tool_end").connected_to(
            lambda function, verdict=verdict: verdict, role="guard", name="stop"
        ):
            fc = fc_of(lambda: "a secret")
            done = execute(fc)
        assert (done.status, done.result) == (
            ("success" if result else "failure"),
            result,
        ) and fc.result == result


@pytest.mark.parametrize("verdict", [Block("no"), Block("no", result="x"), Replace([])], ids=repr)
@pytest.mark.parametrize("hook", ["run_input", "run_output"])
def test_whatever_stops_the_input_or_output_of_a_run_stops_the_run(either, bus, verdict, hook):
    asked = []
    role = "guard" if isinstance(verdict, Block) else "modify"
    bus.signal(f"pre_{hook}").connect(lambda agent: verdict, role=role, name="stop")
    agent = Agent(model=ScriptedModel(lambda text: asked.append(text) or "a secret"))
    for response in (agent.run("hi"), asyncio.run(agent.arun("hi"))):
        assert (
            response.status.value == "ERROR"
            and "secret" not in response.content
            and hook in response.content
        )
    assert asked == ([] if hook == "run_input" else ["hi"] * 2)


def test_an_argument_that_cannot_be_changed_is_said_to_be(either, bus):
    bodies = []
    bus.signal("pre_tool_call").connect(lambda function: {"name": "another"}, name="rename")
    done = executed(lambda: bodies.append(1))
    assert done.status == "failure" and "only args can be changed" in done.error and bodies == []


# -- what the adapter leaves behind ----------------------------------------------------------------


def test_a_tool_an_agent_and_their_hooks_are_collected(either):
    import gc
    import weakref

    class Owner:
        def hook(self, func, args):
            return func(**args)

        def check(self, run_input):
            pass

    owner = Owner()
    agent = Agent(model=ScriptedModel(), pre_hooks=[owner.check])
    owner.agent = agent
    function = Function(name="tool", entrypoint=lambda: 1, tool_hooks=[owner.hook])
    owner.function = function
    FunctionCall(function=function).execute()
    agent.run("hi")
    gone = [weakref.ref(each) for each in (owner, agent, function)]
    del owner, agent, function
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3


def test_an_agent_that_was_listened_to_has_no_lists_it_did_not_have(bus):
    uninstall = agno.install(bus)
    bus.signal("pre_run_input").connect(lambda agent: None, role="observe", name="hear")
    agent = Agent(model=ScriptedModel())
    agent.run("hi")
    uninstall()
    assert agent.pre_hooks is None and agent.post_hooks is None
