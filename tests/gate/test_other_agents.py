"""Cursor, GitHub Copilot CLI and OpenCode: by their documents and by recorded events."""

import json

import pytest

from hookbus.gate._agents import AGENTS as KNOWN
from hookbus.gate._events import read_event
from hookbus.gate._sessions import MOST, Sessions
from hookbus.journal import Journal

from . import events, others
from .asked import Asked
from .others import AGENTS


@pytest.fixture(scope="module")
def asked(module_gates):
    found = Asked(module_gates("others"))
    for agent in AGENTS:
        found.begin(agent)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_a_call_is_blocked_changed_or_runs_as_it_is(asked, agent):
    what, text = asked.outcome(agent, others.before(agent, "forbidden"))
    assert what == "blocked" and "Error: the call was blocked by guard: not this" in text
    what, text = asked.outcome(agent, others.before(agent, "broken"))
    assert what == "blocked" and "the text of the guard" not in text
    assert asked.outcome(agent, others.before(agent)) == ("runs", {"command": "ls"})
    given = {"command": "echo OLD", "description": "x"}
    event = others.before(agent, number=2, arguments=given)
    assert asked.outcome(agent, event) == ("runs", {"command": "echo NEW"})


@pytest.mark.parametrize("agent", ["copilot", "opencode"])
def test_a_changed_result_or_one_of_an_unknown_call_is_not_read(asked, agent):
    asked.answer(agent, *others.before(agent, "cat a", 3))
    assert asked.outcome(agent, others.after(agent, "cat a", 3)) == ("told", "a file")
    asked.answer(agent, *others.before(agent, "cat b", 4))
    what, text = asked.outcome(agent, others.after(agent, "cat b", 4, "a TOKEN"))
    assert text == "[redacted]"
    what, text = asked.outcome(agent, others.after(agent, "cat c", 5, "unseen"))
    assert "the gate never allowed this call" in text and "unseen" not in text


def test_a_result_that_cursor_cannot_withhold_ends_the_calls_of_the_session(asked):
    def event(make, number, **more):
        name, given = make("cursor", number=number, **more)
        return name, {**given, "conversation_id": "leaking"}

    mcp = {"tool": "MCP:read"}
    asked.begin("cursor", conversation_id="leaking")
    assert asked.outcome("cursor", event(others.before, 1, **mcp))[0] == "runs"
    assert asked.outcome("cursor", event(others.after, 1, text="TOKEN", **mcp))[1] == "[redacted]"
    assert asked.outcome("cursor", event(others.before, 2))[0] == "runs"
    assert "TOKEN" in asked.outcome("cursor", event(others.after, 2, text="TOKEN"))[1]
    what, text = asked.outcome("cursor", event(others.before, 3))
    assert what == "blocked" and "cursor cannot withhold it: begin a new session" in text
    assert asked.outcome("cursor", others.before("cursor", number=4))[0] == "runs"


def test_copilot_reads_a_refused_prompt_but_runs_nothing_until_another_is_let_through(asked):
    assert asked.outcome("copilot", others.prompt("copilot"))[0] == "goes on"
    code, out, err = asked.answer("copilot", *others.prompt("copilot", "a rude word"))
    assert code == 2 and "be polite" in err
    what, text = asked.outcome("copilot", others.before("copilot"))
    assert what == "blocked" and "the prompt was not allowed" in text
    asked.answer("copilot", *others.prompt("copilot"))
    assert asked.outcome("copilot", others.before("copilot"))[0] == "runs"


def test_what_a_session_was_barred_for_is_not_forgotten_with_the_server(make_gate):
    gate = Asked(make_gate())
    for agent in ("cursor", "copilot"):
        gate.begin(agent)
    assert gate.outcome("cursor", others.before("cursor"))[0] == "runs"
    gate.outcome("cursor", others.after("cursor", text="TOKEN"))
    gate.answer("copilot", *others.prompt("copilot", "a rude word"))
    gate.gate.stop()
    assert "begin a new session" in gate.outcome("cursor", others.before("cursor"))[1]
    assert "send another prompt" in gate.outcome("copilot", others.before("copilot"))[1]
    gate.answer("copilot", *others.prompt("copilot"))
    assert gate.outcome("copilot", others.before("copilot"))[0] == "runs"
    gate.gate.write(gate.gate.file.read_text() + '[gate]\nlost = "fresh"\n')
    for agent in ("cursor", "copilot"):
        assert gate.outcome(agent, others.before(agent))[0] == "runs"


def test_barred_sessions_are_kept_before_others():
    def event(number):
        name, given = others.before("cursor")
        given = {**given, "conversation_id": str(number)}
        return read_event(KNOWN["cursor"], name, json.dumps(given).encode())

    sessions = Sessions()
    sessions.get(event(0)).barred["result"] = "a leak"
    for number in range(1, MOST + 1):
        assert not sessions.get(event(number)).barred
    assert sessions.get(event(0)).barred and sessions.find(event(1).session) is None


@pytest.mark.parametrize("agent", ["cursor", "opencode"])
def test_a_refused_prompt_reaches_no_model(asked, agent):
    assert asked.outcome(agent, others.prompt(agent))[0] == "goes on"
    what, text = asked.outcome(agent, others.prompt(agent, "a rude word"))
    assert what == "blocked" and "be polite" in text


@pytest.mark.parametrize("agent", AGENTS)
def test_an_event_that_is_not_as_documented_closes(asked, agent):
    for make in (others.before, others.prompt):
        for data in (b"", b"{", b"[]", b"{}", b'{"a": NaN}', b"\xff", b"null"):
            name, given = make(agent)
            if agent == "copilot" and make is others.prompt:
                assert asked.answer(agent, name, given, data)[0] == 2
            else:
                what, text = asked.outcome(agent, (name, given), data)
                assert what == "blocked" and text.startswith("hookbus: ")
    name, given = others.before(agent)
    key = "toolArgs" if agent == "copilot" else "tool_input"
    for wrong in ("text", '{"a": NaN}', None, ["ls"]):
        assert asked.outcome(agent, (name, {**given, key: wrong}))[0] == "blocked"


@pytest.mark.parametrize("agent", AGENTS)
def test_wrong_settings_close_calls_and_prompts_and_let_sessions_begin_and_end(make_gate, agent):
    gate = Asked(make_gate())
    gate.gate.write("[gate]\nrule = 1\n")
    assert gate.outcome(agent, others.before(agent))[0] == "blocked"
    assert gate.answer(agent, *others.prompt(agent)) != (0, "", "")
    if agent != "cursor":
        assert "a file" not in gate.outcome(agent, others.after(agent))[1]
    for names in (others.BEGIN, others.END):
        assert gate.answer(agent, *others.session(agent, names)) == (0, "", "")


def test_tools_of_mcp_are_in_their_group_though_their_server_is_not_known(asked):
    for agent, tool in (("cursor", "MCP:read"), ("copilot", "files-read"),
                        ("opencode", "files_read")):  # fmt: skip
        asked.answer(agent, *others.before(agent, tool=tool, number=9))
    what, _ = asked.outcome("copilot", others.before("copilot", tool="files-forbidden"))
    assert what == "blocked"
    asked.gate.stop()
    with Journal(asked.gate.folder / "calls.journal") as journal:
        labels = [each.data["labels"] for each in journal.records(type="hookbus.started")
                  if each.data["hook"] == "tool_call"]  # fmt: skip
    kinds = {each["name"]: each["kind"] for each in labels if each["name"].startswith("mcp")}
    assert kinds == dict.fromkeys(
        ["mcp__read", "mcp__files-read", "mcp__files_read", "mcp__files-forbidden"], "mcp"
    )


def test_relative_paths_are_read_from_the_folder_of_the_command(make_gate, tmp_path):
    gate = Asked(make_gate())
    (tmp_path / "home" / ".cursor").mkdir(parents=True)
    folder = str(tmp_path / "home" / ".cursor")

    gate.begin("cursor")

    def outcome(agent, key, value, command="echo {} > hooks.json"):
        arguments = {"command": command, key: value}
        if agent in AGENTS:
            return gate.outcome(agent, others.before(agent, arguments=arguments))
        event = events.before(agent, tool_input=arguments)
        return gate.gate.outcome(agent, event)

    for agent, key in (("cursor", "cwd"), ("cursor", "working_directory"), ("opencode", "workdir"),
                       ("gemini", "dir_path"), ("gemini", "directory"),
                       ("codex", "workdir")):  # fmt: skip
        assert "blocked by gate_itself" in outcome(agent, key, folder)[1], (agent, key)
        for wrong in ([folder], 1, "~/.cursor"):
            assert "folder of the command" in outcome(agent, key, wrong, "ls")[1], wrong
        for right in (None, "", str(tmp_path)):
            assert outcome(agent, key, right, "ls")[0] == "runs", (agent, right)
    both = {"command": "ls", "dir_path": "a", "directory": "b"}
    assert gate.gate.outcome("gemini", events.before("gemini", tool_input=both))[0] == "blocked"


PATCH = "*** Begin Patch\n*** Add File: {}\n+a\n*** End Patch"
PLACES = [("copilot", "apply_patch", "input"), ("opencode", "apply_patch", "patchText"),
          ("opencode", "patch", "patchText")]  # fmt: skip


def test_paths_of_opencode_stay_in_the_folders(make_gate, tmp_path):
    gate = Asked(make_gate())
    gate.gate.write(f'[gate]\npaths_within = ["{tmp_path}"]\n')
    for path, expected in ((f"{tmp_path}/a", "runs"), ("/etc/a", "blocked")):
        event = others.before("opencode", tool="read", arguments={"filePath": path})
        assert gate.outcome("opencode", event)[0] == expected


@pytest.mark.parametrize(("agent", "tool", "place"), PLACES)
def test_the_files_that_a_patch_names_are_judged(make_gate, tmp_path, agent, tool, place):
    gate = Asked(make_gate())
    gate.gate.write(f'[gate]\npaths_within = ["{tmp_path}"]\n')
    gate.begin(agent)

    def outcome(value):
        return gate.outcome(agent, others.before(agent, tool=tool, arguments={place: value}))

    assert outcome(PATCH.format(f"{tmp_path}/a"))[0] == "runs"
    assert "outside the allowed folders" in outcome(PATCH.format("/etc/a"))[1]
    assert "gate_itself" in outcome(PATCH.format("~/.copilot/hooks/hookbus.json"))[1]
    for wrong in ([PATCH.format(f"{tmp_path}/a")], None, "a text"):
        assert outcome(wrong)[0] == "blocked"


def test_a_patch_that_copilot_sends_as_a_plain_text_is_judged_and_not_changed(asked, tmp_path):
    def outcome(text):
        event = others.before("copilot", tool="apply_patch", arguments=text)
        return asked.outcome("copilot", event)

    asked.begin("copilot")
    patch = PATCH.format(tmp_path / "a")
    assert outcome(patch) == ("runs", patch)
    assert "gate_itself" in outcome(PATCH.format(".github/hooks/hookbus.json"))[1]
    what, text = outcome(patch + "OLD")
    assert what == "blocked" and "copilot cannot change the arguments of this tool" in text
