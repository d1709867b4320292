"""Agno's tools speak the vocabulary: a guard written for another framework holds here."""

import asyncio

import pytest
from agno.agent import Agent
from agno.team import Team
from agno.tools.function import Function, FunctionCall

from . import agno_settings as parts
from .agno_parts import ScriptedModel
from .vocabulary import Words

either = parts.either

CALLS = [("mail", '{"to": " bob "}'), ("mail", '{"to": " eve "}')]


def mailing(sent):
    def mail(to: str):
        sent.append(to)
        return f"mail to {to}"

    return mail


def streaming(sent):
    def mail(to: str):
        sent.append(to)
        yield f"mail to {to}"

    return mail


def run(agent):
    return agent.run("go")


def arun(agent):
    return asyncio.run(agent.arun("go"))


@pytest.mark.parametrize("runs", [run, arun])
@pytest.mark.parametrize("make", [mailing, streaming])
def test_a_guard_in_the_words_of_the_vocabulary_holds_in_runs(either, bus, runs, make):
    words, sent = Words(bus), []
    model = ScriptedModel(calls=CALLS)
    agent = Agent(model=model, tools=[make(sent)])
    response = runs(agent)
    assert response.content == "done" and sent == ["bob"]
    told = [message.content for message in model.asked[-1] if message.role == "tool"]
    assert told[0] == "mail to bob" and "blocked by only_inside: eve is outside" in told[1]
    assert words.only("name", "arguments", "call_id", "kind") == [
        ("mail", {"to": "bob"}, "call_0", "function"),
        ("mail", {"to": "eve"}, "call_1", "function"),
    ]
    for sender, tool, whose in words.only("sender", "tool", "caller"):
        assert sender is tool and isinstance(tool, Function) and whose is agent


def test_a_direct_call_has_no_number_and_nobody_whose_it_is(either, bus):
    words, sent = Words(bus), []
    tool = Function(name="mail", entrypoint=mailing(sent))
    assert FunctionCall(function=tool, arguments={"to": "bob "}).execute().result == "mail to bob"
    assert words.only("sender", "call_id", "kind", "caller") == [(tool, None, "function", None)]
    assert sent == ["bob"]


def test_a_member_that_a_team_asks_is_of_the_kind_agent(either, bus):
    kinds = []
    bus.signal("pre_tool_call").connect(
        lambda tool, name, kind, caller: kinds.append((name, kind, caller)), name="kinds"
    )
    member = Agent(name="ada", id="ada", model=ScriptedModel())
    ask = ("delegate_task_to_member", '{"member_id": "ada", "task": "sum up"}')
    team = Team(members=[member], model=ScriptedModel(calls=[ask]))
    assert team.run("go").content == "done"
    assert kinds == [("delegate_task_to_member", "agent", team)]


def test_what_its_module_for_mcp_makes_is_of_the_kind_mcp(either, bus):
    words, tool = Words(bus), mailing([])
    tool.__module__ = "agno.utils.mcp"
    FunctionCall(function=Function(name="mail", entrypoint=tool), arguments={"to": "bob"}).execute()
    assert words.only("kind") == [("mcp",)]
