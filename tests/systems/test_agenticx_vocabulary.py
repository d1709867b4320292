"""AgenticX's tools speak the vocabulary: a guard written for another framework holds here."""

import asyncio

import pytest
from agenticx.tools.executor import ToolExecutor
from agenticx.tools.remote import RemoteTool

from hookbus import Ask, Block, Bus
from hookbus.adapters import agenticx
from hookbus.approvals import Approved

from .agenticx_run import BareTool, execute, made_agent, made_executor, made_runtime, note, turn
from .vocabulary import Words


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture(params=[False, True], ids=["default", "strict"], autouse=True)
def installed(bus, request, monkeypatch):
    # A tool that failed is tried again after a second, three times.
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    uninstall = agenticx.install(bus, strict=request.param)
    yield
    uninstall()


def mailing(sent):
    return BareTool("mail", lambda to: sent.append(to) or f"mail to {to}")


def plain(tool, to):
    return ToolExecutor().execute(tool, agent_id="ada", to=to)


def awaited(tool, to):
    return asyncio.run(ToolExecutor().aexecute(tool, agent_id="ada", to=to))


@pytest.mark.parametrize("call", [plain, awaited])
def test_a_guard_in_the_words_of_the_vocabulary_holds_in_direct_calls(bus, call):
    words, sent = Words(bus), []
    tool = mailing(sent)
    assert call(tool, " bob ").result == "mail to bob"
    assert "blocked by only_inside: eve is outside" in str(call(tool, " eve ").error)
    assert sent == ["bob"] and words.only("name", "arguments") == [
        ("mail", {"to": "bob"}),
        ("mail", {"to": "eve"}),
    ]
    expected = [(tool, tool, None, "function", "ada")] * 2
    assert words.only("sender", "tool", "call_id", "kind", "caller") == expected


@pytest.mark.parametrize("call", [plain, awaited])
def test_a_call_that_is_asked_about_runs_after_a_yes(bus, call):
    asked, sent = [], []
    bus.signal("pre_tool_call").connect(lambda tool: Ask("may it?"), role="guard", weak=False)
    bus.approver(lambda request: asked.append(request.arguments) or Approved("ann"))
    assert call(mailing(sent), "bob").result == "mail to bob"
    assert asked == [{"name": "mail", "arguments": {"to": "bob"}, "kind": "function"}]


def test_in_a_run_of_its_executor_the_agent_is_known(bus):
    words, sent, agent = Words(bus), [], made_agent()
    executor = made_executor(mail=mailing(sent))
    assert execute(executor, "mail", agent, to=" bob ").events[-1].result == "mail to bob"
    with pytest.raises(Exception, match="eve is outside"):
        execute(executor, "mail", agent, to="eve")
    tool = executor.tool_registry.get("mail")
    assert sent == ["bob"] and words.only("sender", "caller") == [(tool, agent)] * 2


def test_a_runtime_knows_the_number_of_a_call_and_whose_it_is(bus):
    told = []

    def guard(sender, name, arguments, call_id, kind, tool, caller):
        told.append((name, call_id, kind, caller, sender is tool))
        return Block("no notes of that") if arguments["key"] == "no" else None

    bus.signal("pre_tool_call").connect(guard, role="guard")
    bus.signal("pre_tool_call").connect(
        lambda sender, arguments: {"arguments": {**arguments, "value": "changed"}}, name="change"
    )
    done = turn(made_runtime([note("k", "v"), note("no", "v"), "bye"]))
    assert done.notes == {"k": "changed"}
    assert told == [
        ("scratchpad_write", "call-k", "function", "me", True),
        ("scratchpad_write", "call-no", "function", "me", True),
    ]


def test_a_tool_of_a_server_is_of_the_kind_mcp(bus):
    kinds = []

    def look(tool, kind):
        kinds.append((tool, kind))
        return Block("seen")

    bus.signal("pre_tool_call").connect(look, role="guard")
    tool = RemoteTool({"name": "far", "command": "never-run"}, "mail")
    assert "seen" in str(ToolExecutor().execute(tool).error) and kinds == [(tool, "mcp")]
