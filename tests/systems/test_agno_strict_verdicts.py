"""Verdicts of receivers in Agno's calls, and what the adapter leaves behind."""

import asyncio

import pytest
from agno.agent import Agent
from agno.tools.function import Function, FunctionCall

from hookbus import Block, Replace
from hookbus.adapters import agno

from . import agno_settings as parts
from .agno_parts import ScriptedModel
from .agno_settings import executed, fc_of

either = parts.either


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
    assert done.status == "failure" and bodies == []
    assert "only the arguments of a tool call can be changed" in done.error


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
