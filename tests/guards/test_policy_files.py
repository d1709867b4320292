"""guards.policy and guards.pinned_tools: which files they read, and whom they trust."""

import codecs
import json
import os
import threading
import time

import pytest

from hookbus import HookBlocked, HookError, baggage, events, hookable, report
from hookbus.guards import pinned_tools, policy, tool_policy

from .test_pinned_tools import bash
from .test_tool_policy import outcome

AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
TOOLS = {"tools": [{"name": "pay", "inputSchema": AMOUNT}]}
FINANCE = 'permit(principal in Role::"finance", action, resource is Tool);'


@pytest.fixture
def say(call):
    """Call the tool as a user, after a change of a file, and return what happened."""

    def said(user="ada"):
        time.sleep(0.11)
        with baggage(user=user):
            return outcome(call, "pay", amount=5)

    return said


def write(folder, policies=FINANCE, people="ada = ['finance']\n"):
    folder.mkdir(exist_ok=True)
    (folder / "agent.cedar").write_text(policies)
    (folder / "people.toml").write_text(people)
    (folder / "entities.json").write_text(json.dumps({}))
    (folder / "tools.json").write_text(json.dumps(TOOLS))


def test_another_working_directory_does_not_bring_other_files(bus, say, tmp_path, monkeypatch):
    write(tmp_path / "mine")
    write(tmp_path / "theirs", "permit(principal, action, resource is Tool);", "eve = ['finance']")
    (tmp_path / "theirs" / "tools.json").write_text('{"tools": []}')
    monkeypatch.chdir(tmp_path / "mine")
    guard = policy(
        "agent.cedar", schema="tools.json", people="people.toml", entities="entities.json"
    )
    bus.register(guard)
    monkeypatch.chdir(tmp_path / "theirs")
    assert (say("ada"), say("eve"), guard.problem) == ("called", "blocked", None)


def test_pins_stay_in_their_file_when_the_working_directory_changes(bus, tmp_path, monkeypatch):
    @hookable("tool_call", bus=bus, sender="tool")
    def tool_call(name, arguments, tool):
        return "ran"

    monkeypatch.chdir(tmp_path)
    bus.register(pinned_tools("tools.pins", on_change="block"))
    assert tool_call("bash", {}, bash()) == "ran"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tools.pins").touch()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(HookBlocked, match="has changed"):
        tool_call("bash", {}, bash("Run as root."))


def test_a_byte_order_mark_at_the_beginning_of_a_file_is_skipped(bus, say, tmp_path):
    write(tmp_path)
    (tmp_path / "rules.toml").write_text("allow = ['pay']\ndefault = 'block'")
    for each in tmp_path.iterdir():
        each.write_bytes(codecs.BOM_UTF8 + each.read_bytes())
    bus.register(tool_policy.load(tmp_path / "rules.toml"))
    people, entities = tmp_path / "people.toml", tmp_path / "entities.json"
    bus.register(policy(tmp_path, schema=tmp_path / "tools.json", people=people, entities=entities))
    assert (say("ada"), say("bob")) == ("called", "blocked")


def test_a_role_is_taken_from_its_last_member(bus, say, tmp_path):
    write(tmp_path)
    guard = policy(tmp_path, schema=tmp_path / "tools.json", people=tmp_path / "people.toml")
    bus.register(guard)
    assert say("ada") == "called"
    (tmp_path / "people.toml").write_text("ada = []\n")
    assert (say("ada"), guard.problem) == ("blocked", None)
    findings = report(bus).findings
    assert any("the role 'finance', which no entity has now" in each for each in findings)
    (tmp_path / "people.toml").write_text("bob = ['finance']\n")
    assert (say("ada"), say("bob")) == ("blocked", "called")
    (tmp_path / "agent.cedar").write_text(FINANCE.replace("finance", "finanse"))
    assert say("bob") == "called" and "finanse" in guard.problem


def test_a_group_of_its_own_type_loses_its_last_member(bus, say, tmp_path):
    member = {"uid": {"type": "Agent", "id": "ada"}, "parents": [{"type": "Team", "id": "pay"}]}
    write(tmp_path, 'permit(principal in Team::"pay", action, resource is Tool);')
    (tmp_path / "entities.json").write_text(json.dumps([member]))
    guard = policy(
        tmp_path / "agent.cedar", schema=tmp_path / "tools.json",
        entities=tmp_path / "entities.json",
    )  # fmt: skip
    bus.register(guard)
    assert say("ada") == "called"
    (tmp_path / "entities.json").write_text(json.dumps([{**member, "parents": []}]))
    assert (say("ada"), guard.problem) == ("blocked", None)


@pytest.mark.parametrize("left", [None, "", "// nothing\n"], ids=repr)
def test_a_file_of_a_folder_that_loses_its_policies_leaves_them_in_force(bus, say, tmp_path, left):
    write(tmp_path)
    forbids = tmp_path / "forbids.cedar"
    forbids.write_text('forbid(principal, action, resource == Tool::"pay");')
    guard = policy(tmp_path, schema=tmp_path / "tools.json", people=tmp_path / "people.toml")
    bus.register(guard)
    assert say("ada") == "blocked"
    forbids.unlink() if left is None else forbids.write_text(left)
    assert say("ada") == "blocked" and "forbids.cedar no longer contains a policy" in guard.problem
    forbids.write_text('forbid(principal, action, resource == Tool::"other");')
    (tmp_path / "tools.json").write_text(
        json.dumps({"tools": [*TOOLS["tools"], {"name": "other", "inputSchema": AMOUNT}]})
    )
    assert (say("ada"), guard.problem) == ("called", None)


def test_a_listener_may_wait_for_a_call_and_hears_of_a_change_once(bus, say, tmp_path):
    write(tmp_path)
    guard = policy(tmp_path, schema=tmp_path / "tools.json", people=tmp_path / "people.toml")
    bus.register(guard)()  # registered and disconnected again
    bus.register(guard)
    told, results = [], []

    def wait(bus, event):
        told.append(event)
        thread = threading.Thread(target=lambda: results.append(say("bob")))
        thread.start()
        thread.join(20)

    bus.events.connect(wait, kinds=(events.Reloaded,))
    (tmp_path / "people.toml").write_text("ada = ['finance']\nbob = ['finance']\n")
    assert (say("ada"), results, len(told)) == ("called", ["called"], 1)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("links", [1, 2])
def test_no_file_is_read_through_a_folder_that_everyone_may_write(tmp_path, links):
    write(tmp_path / "open")
    write(tmp_path / "mine")
    target = tmp_path / "open" / "agent.cedar"
    if links == 2:
        target.unlink()
        target.symlink_to(tmp_path / "mine" / "agent.cedar")
    (tmp_path / "link.cedar").symlink_to(target)
    people = {"ada": ["finance"]}
    policy(tmp_path / "link.cedar", people=people)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(HookError, match="open is world-writable"):
        policy(tmp_path / "link.cedar", people=people)
    (tmp_path / "pins").symlink_to(tmp_path / "open" / "people.toml")
    with pytest.raises(HookError, match="open is world-writable"):
        pinned_tools(tmp_path / "pins")
