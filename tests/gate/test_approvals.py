"""Calls that need a person's approval."""

import json
import time

import pytest

from hookbus.approvals import Approved, Denied, Store
from hookbus.journal import Journal

from . import events
from .events import AGENTS

ASKING = """\
from hookbus import Ask


def careful(tool, arguments):
    return Ask("push?") if "push" in str(arguments) else None


def register(api):
    api.connect("pre_tool_call", careful, role="guard", name="careful")
"""


def asking(gate, text=""):
    gate.write('approvals = "approvals.db"\njournal = "calls.journal"\n' + gate.plug(ASKING) + text)
    return gate


def pending(gate):
    return Store(gate.folder / "approvals.db").pending()


def answer(gate, answered):
    (request,) = pending(gate)
    Store(gate.folder / "approvals.db").answer(request.id, answered)
    return request


@pytest.fixture(scope="module")
def stored(module_gates):
    return asking(module_gates("stored"))


@pytest.mark.parametrize("agent", AGENTS)
def test_an_approved_call_passes_once_in_whichever_session_of_that_agent(stored, agent):
    push = f"git push # by {agent}"
    what, text = stored.outcome(agent, events.before(agent, push))
    (request,) = pending(stored)
    assert what == "blocked"
    assert f"approval pending (request {request.id}); retry after it is approved" in text
    assert request.bound == {"agent": agent, "cwd": "/tmp"}
    elsewhere = next(each for each in AGENTS if each != agent)
    answer(stored, Approved("ada"))
    later = {"session_id": "another", "turn_id": "another"}
    assert stored.outcome(elsewhere, events.before(elsewhere, push))[0] == "blocked"
    answer(stored, Denied("ada", "no"))
    again = events.before(agent, push, 2, **later)
    assert stored.outcome(agent, again)[0] == "runs"
    assert stored.outcome(agent, {**again, "cwd": "/"})[0] == "blocked"
    answer(stored, Denied("ada", "no"))
    assert stored.outcome(agent, again)[0] == "blocked"
    answer(stored, Denied("ada", "not today"))
    assert "denied by ada: not today" in stored.outcome(agent, again)[1]


def test_without_a_store_nobody_is_asked_and_the_call_is_blocked(make_gate):
    gate = make_gate()
    gate.write(gate.plug(ASKING))
    what, text = gate.outcome("codex", events.before("codex", "git push"))
    assert what == "blocked" and "no approver is configured" in text


def test_a_call_waits_for_the_store_longer_than_its_deadline(make_gate):
    gate = asking(make_gate(), "[gate]\nwait = 20\n")
    gate.answer("codex", events.before("codex"))
    started = gate.start("codex", "PreToolUse", 1)
    started.stdin.write(json.dumps(events.before("codex", "git push", 2)).encode())
    started.stdin.close()
    time.sleep(1.5)
    answer(gate, Approved("ada"))
    with started:
        out, err = started.stdout.read(), started.stderr.read()
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "allow", err


CLI = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


@pytest.fixture(scope="module")
def handing(module_gates):
    return asking(module_gates("handing"), '[gate]\nask = "agent"\n')


def test_claude_code_asks_its_own_user_where_that_is_set(handing):
    event = events.before("claude", "git push")
    code, out, err = handing.answer("claude", event, variables=CLI)
    own = json.loads(out)["hookSpecificOutput"]
    assert own == {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                   "permissionDecisionReason": "push?"}  # fmt: skip
    assert pending(handing) == []
    assert handing.answer("claude", events.after("claude", "git push")) == (0, "", "")
    handing.stop()
    with Journal(handing.folder / "calls.journal") as journal:
        finished = list(journal.records(type="hookbus.finished"))
        invoked = list(journal.records(type="hookbus.invoked"))
    assert [each.data["outcome"] for each in finished] == ["returned"]
    told = [(each.data["answer"], each.data["by"]) for each in invoked]
    assert told == [("asked", None), ("handed on", "claude")]


@pytest.mark.parametrize("agent, variables, mode", [
    ("claude", {}, "default"), ("claude", {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, "default"),
    ("claude", CLI, "bypassPermissions"), ("claude", CLI, "dontAsk"), ("codex", CLI, "default"),
    ("gemini", CLI, "default"),
])  # fmt: skip
def test_without_a_user_at_hand_the_store_is_asked(handing, agent, variables, mode):
    event = events.before(agent, f"git push {mode} {len(variables)}", permission_mode=mode)
    what, text = handing.outcome(agent, event, variables=variables)
    assert what == "blocked" and "approval pending" in text


def test_a_call_that_the_user_of_claude_code_denied_is_cancelled_with_its_session(handing):
    event = events.before("claude", "git push", 7, session_id="denied")
    assert handing.outcome("claude", event, variables=CLI)[0] == "asks"
    end = events.other("claude", "SessionEnd", session_id="denied", reason="exit")
    assert handing.answer("claude", end) == (0, "", "")
    late = events.after("claude", "git push", 7, session_id="denied")
    assert "never allowed this call" in str(handing.outcome("claude", late)[1])
    assert "Traceback" not in handing.log
