"""The answers to events, as each agent reads them."""

import json

import pytest

from hookbus.journal import Journal

from . import events
from .events import AGENTS

CHANGING = """\
from datetime import date

from hookbus import Block, Replace


def safer(tool, name, arguments):
    if "cat" in str(arguments):
        return {"arguments": {**arguments, "command": "cat -- /tmp/a"}}


def redacted(tool, arguments, result):
    if "hide" in str(arguments):
        return Replace("[hidden]")
    if "token" in str(result):
        told = "[no token]"
        return Replace(told if isinstance(result, str) else {**result, "stdout": told})
    if "a date" in str(result):
        return Replace({"at": date(2026, 1, 2)})
    if "list" in str(result):
        return Replace(["of another shape"])


def polite(agent, input):
    if "rude" in input:
        return Block("be polite")


def rewritten(agent, input):
    if "secret" in input:
        return {"input": "..."}


def register(api):
    api.connect("pre_tool_call", safer, name="safer", on_error="block")
    api.connect("post_tool_call", redacted, name="redacted")
    api.connect("pre_agent_run", polite, role="guard", name="polite")
    api.connect("pre_agent_run", rewritten, name="rewritten")
"""
HOOKS = '["pre_tool_call", "post_tool_call", "pre_agent_run"]'


@pytest.fixture(scope="module")
def changing(module_gates):
    gate = module_gates("changing")
    gate.write('journal = "calls.journal"\n' + gate.plug(CHANGING, HOOKS))
    return gate


def result_of(agent, text):
    shell, gemini = events.RESULT["claude"], events.RESULT["gemini"]
    return {"claude": {**shell, "stdout": text}, "codex": text,
            "gemini": {**gemini, "llmContent": text}}[agent]  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
def test_a_blocked_call_does_not_run_and_the_model_reads_why(module_gates, agent):
    gate = module_gates("rm")
    what, text = gate.outcome(agent, events.before(agent, "rm -r /tmp/x"))
    assert (what, text.strip()) == (
        "blocked", "Error: the call was blocked by no_rm: rm is not for agents"
    )  # fmt: skip


def test_a_call_that_no_guard_blocks_goes_as_it_is(module_gates):
    gate = module_gates("rm")
    for agent in ("claude", "gemini"):
        assert gate.answer(agent, events.before(agent)) == (0, "", "")
        assert gate.answer(agent, events.after(agent)) == (0, "", "")
    mcp = events.before("codex", tool_name="mcp__files__read")
    assert gate.answer("codex", mcp) == (0, "", "")


@pytest.mark.parametrize("agent", AGENTS)
def test_changed_arguments_are_the_ones_that_run(changing, agent):
    event = events.before(agent, "cat /tmp/a")
    what, arguments = changing.outcome(agent, event)
    command = "cat -- /tmp/a"
    if agent == "codex":
        command = f"exec </dev/null\n{command}"
    assert (what, arguments) == ("runs", {"command": command})
    assert changing.answer(agent, events.after(agent, command)) == (0, "", "")


def test_claude_code_keeps_its_own_permissions_when_arguments_change(changing):
    out = json.loads(changing.answer("claude", events.before("claude", "cat /tmp/a", 2))[1])
    assert out["hookSpecificOutput"].keys() == {"hookEventName", "updatedInput"}


def test_codex_refuses_changed_arguments_of_a_tool_that_takes_none(changing):
    event = events.before("codex", "cat /tmp/a", tool_name="view_image")
    what, text = changing.outcome("codex", event)
    assert what == "blocked" and "codex cannot change the arguments of this tool" in text


@pytest.mark.parametrize("agent", AGENTS)
def test_a_changed_result_is_the_one_that_is_read(changing, agent):
    changing.answer(agent, events.before(agent, number=3))
    event = events.after(agent, number=3, result=result_of(agent, "a token"))
    what, result = changing.outcome(agent, event)
    told = result["stdout"] if agent == "claude" else result.strip()
    assert (what, told) == ("told", "[no token]")


def test_a_result_of_claude_code_in_another_shape_ends_the_turn(changing):
    changing.answer("claude", events.before("claude", number=4))
    event = events.after("claude", number=4, result=result_of("claude", "a list"))
    what, text = changing.outcome("claude", event)
    assert what == "ends" and "a different shape" in text


def test_a_result_of_mcp_that_a_receiver_made_is_a_text_whatever_is_in_it(changing):
    own = {"number": 6, "tool_name": "mcp__dates__read"}
    changing.answer("claude", events.before("claude", **own))
    event = events.after("claude", number=6, result=[{"type": "text", "text": "a date"}])
    what, text = changing.outcome("claude", {**event, "tool_name": own["tool_name"]})
    assert (what, text) == ("told", [{"type": "text", "text": '{"at": "2026-01-02"}'}])


@pytest.mark.parametrize("agent", AGENTS)
def test_a_result_of_a_call_that_was_never_judged_is_withheld(changing, agent):
    event = events.after(agent, "unseen", number=5)
    what, result = changing.outcome(agent, event)
    assert what == "told" and "the gate never allowed this call" in str(result)
    assert "a file" not in str(result)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_prompt_goes_on_unless_a_guard_refuses_or_changes_it(changing, agent):
    assert changing.answer(agent, events.prompt(agent)) == (0, "", "")
    what, text = changing.outcome(agent, events.prompt(agent, "a rude word"))
    assert what == "blocked" and "blocked by polite: be polite" in text
    what, text = changing.outcome(agent, events.prompt(agent, "a secret"))
    assert what == "blocked" and "does not accept that" in text


def test_gemini_calls_without_an_id_are_told_apart_by_their_arguments(changing):
    for command in ("echo 1", "echo hide", "cat /tmp/b"):
        changing.answer("gemini", events.before("gemini", command))
    hidden = changing.outcome("gemini", events.after("gemini", "echo hide"))
    assert hidden == ("told", "[hidden]")
    for command in ("cat /tmp/b", "echo 1"):
        assert changing.answer("gemini", events.after("gemini", command)) == (0, "", "")
    what, result = changing.outcome("gemini", events.after("gemini", "echo 1"))
    assert "never allowed this call" in result


def test_a_tool_of_mcp_has_the_same_name_in_every_agent(changing):
    context = {"server_name": "files", "tool_name": "read", "command": "node", "args": ["secret"]}
    gemini = events.before("gemini", tool_name="mcp_files_read", mcp_context=context)
    assert changing.answer("gemini", gemini) == (0, "", "")
    for agent in ("claude", "codex"):
        event = events.before(agent, number=6, tool_name="mcp__files__read")
        assert changing.answer(agent, event) == (0, "", "")
    changing.stop()  # and so write the journal
    found = [each for each in started(changing) if each["name"] == "mcp__files__read"]
    assert [each["kind"] for each in found] == ["mcp"] * 3
    assert [each.get("call_id") for each in found] == [None, "toolu_06", "toolu_06"]


def started(gate):
    """Return the labels of the calls in the journal."""
    with Journal(gate.folder / "calls.journal") as journal:
        return [
            each.data["labels"] for each in journal.records(type="hookbus.started")
            if each.data["hook"] == "tool_call"
        ]  # fmt: skip


def test_both_events_of_a_call_are_one_call_in_the_journal(module_gates):
    gate = module_gates("journal")
    gate.write('journal = "calls.journal"\n' + gate.plug())
    for number in (1, 2, 3):
        gate.answer("claude", events.before("claude", number=number))
    gate.answer("claude", events.after("claude", number=1))
    gate.answer("claude", events.failed(number=2))
    gate.answer("claude", events.other("claude", "SessionEnd", reason="exit"))
    gate.stop()
    with Journal(gate.folder / "calls.journal") as journal:
        finished = list(journal.records(type="hookbus.finished"))
    assert [each.data["outcome"] for each in finished] == ["returned", "raised", "cancelled"]
    assert {each.baggage["session"] for each in finished} == {
        f"claude:{events.COMMON['claude']['session_id']}"
    }
    assert {each.baggage["cwd"] for each in finished} == {"/tmp"}
    assert finished[1].data["error"]["type"].endswith("hookbus.gate.ToolFailed")
    assert {each.data["sender"].partition(" at ")[0] for each in finished} == {"ClaudeTool 'Bash'"}


def test_a_prompt_is_listed_with_the_name_of_its_agent(make_gate):
    gate = make_gate()
    gate.write('journal = "calls.journal"\n' + gate.plug())
    gate.answer("gemini", events.prompt("gemini"))
    gate.stop()
    with Journal(gate.folder / "calls.journal") as journal:
        (finished,) = journal.records(type="hookbus.finished")
    assert finished.data["labels"] == {"agent": "gemini"}


def test_sub_agents_are_callers_of_their_own(module_gates):
    gate = module_gates("journal")
    own = {"agent_id": "a1", "agent_type": "Explore"}
    gate.answer("claude", events.before("claude", number=9, **own))
    assert gate.answer("claude", events.after("claude", number=9, **own)) == (0, "", "")
    gate.answer("claude", events.before("claude", number=9))
    what, result = gate.outcome("claude", events.after("claude", number=9, **own))
    assert "never allowed this call" in str(result)


KINDS = {
    "claude": {"Agent": "agent", "Task": "agent", "Write": "builtin"},
    "codex": {"spawn_agent": "agent", "apply_patch": "builtin"},
    "gemini": {"invoke_agent": "agent", "write_file": "builtin"},
}


def test_the_journal_has_the_kind_the_caller_and_the_prompt_of_a_call(make_gate):
    gate = make_gate()
    gate.write('journal = "calls.journal"\n' + gate.plug())
    expected = {}
    for agent, tools in KINDS.items():
        for number, (tool, kind) in enumerate(tools.items()):
            given = {"command": "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"}
            own = {"agent_id": "a1", "agent_type": "Explore"} if tool == "Write" else {}
            more = {"prompt_id": "p1"} if agent == "claude" else {}
            event = events.before(agent, number=number, tool_name=tool, tool_input=given)
            assert gate.outcome(agent, {**event, **own, **more})[0] == "runs"
            prompt = {"claude": "p1", "codex": events.COMMON["codex"]["turn_id"]}.get(agent)
            expected[agent, tool] = kind, own.get("agent_type"), prompt
    gate.stop()
    with Journal(gate.folder / "calls.journal") as journal:
        records = list(journal.records(type="hookbus.started"))
    found = {
        (each.baggage["agent"], each.data["labels"]["name"]): (
            each.data["labels"]["kind"], each.data["labels"].get("caller"),
            each.baggage.get("prompt"),
        )
        for each in records
    }  # fmt: skip
    assert found == expected
