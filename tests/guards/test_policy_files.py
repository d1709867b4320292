"""guards.policy and guards.pinned_tools: which files they read, and whom they trust."""

import json
import time

import pytest

from hookbus import HookBlocked, baggage, hookable
from hookbus.guards import pinned_tools, policy

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
