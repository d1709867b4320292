"""With `install(strict=True)`: Agno's streams, and what else was missing."""

import asyncio

import pytest
from agno.agent import Agent
from agno.team import Team
from agno.tools import tool as tool_decorator
from agno.tools.function import Function, FunctionCall

from hookbus import Block, explain
from hookbus.events import Blocked
from hookbus.testing import record

from . import agno_settings as parts
from .agno_parts import ScriptedModel
from .agno_settings import executed, fc_of

strict = parts.strict
either = parts.either


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
        lambda function: {"arguments": {"path": "/etc"}}, name="patch"
    ):
        assert approved().status == "failure" and bodies == []
    assert approved(tool_hooks=[lambda func, args: func(**args)]).result == "/tmp"


def test_agno_AG19_receivers_of_tools_have_priority_filter_once_scope_and_a_handle(either, bus):
    told = []

    def tell(word):
        return lambda function, arguments: told.append(word)

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

    def look(function, arguments, call):
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
