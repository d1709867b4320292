"""With `install(strict=True)`: what hooks after an Agno tool see and change."""

import asyncio
import threading
import time

import pytest
from agno.agent import Agent
from agno.exceptions import StopAgentRun
from agno.models.message import Message
from agno.run.base import RunContext
from agno.tools import tool as tool_decorator
from agno.tools.function import Function, FunctionCall

from hookbus import Block, HookError, Replace
from hookbus.events import Failed, Mutated
from hookbus.exceptions import HookWarning
from hookbus.testing import record

from . import agno_settings as parts
from .agno_parts import ScriptedModel
from .agno_settings import executed, fc_of, in_a_run

strict = parts.strict
either = parts.either


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
            HookWarning, match="forgetful called the next function but returned nothing.*return its"
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
        bus.require_guard("tool_call")
    bus.signal("pre_tool_call").connect(lambda function: None, role="guard", name="policy")
    bus.require_guard("tool_call")


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

    async def guard(function, arguments):
        await asyncio.sleep(0)
        asked.append(arguments)

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
