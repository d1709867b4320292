"""The settings of the gate, and when they apply."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from hookbus.gate import _hook as hook
from hookbus.journal import Journal

from . import events
from .reading import outcome

RULES = """\
deny = [{ "group:shell" = { command = "*sudo*" } }, "group:fetch"]
allow = ["group:shell", "group:read", "mcp__files__*"]
default = "block"
"""


def said(gate, agent, event, **options):
    """Return what becomes of an event, and the text of a refusal."""
    what, value = gate.outcome(agent, event, **options)
    return (what, str(value))


def test_rules_name_groups_of_tools_by_the_names_of_every_agent(make_gate):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text(RULES)
    gate.write('[gate]\nrules = "rules.toml"\n')
    for agent in events.AGENTS:
        assert said(gate, agent, events.before(agent))[0] == "runs"
        assert "sudo" not in said(gate, agent, events.before(agent, "sudo ls"))[0]
        assert said(gate, agent, events.before(agent, "sudo ls", 2))[0] == "blocked"
    fetch = {"claude": "WebFetch", "gemini": "web_fetch"}
    for agent, tool in fetch.items():
        event = events.before(agent, number=3, tool_name=tool)
        assert "blocked by tool_policy" in said(gate, agent, event)[1]


def test_a_wrong_group_closes_and_is_named(make_gate):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text('allow = ["group:shel"]')
    gate.write('[gate]\nrules = "rules.toml"\n')
    assert said(gate, "codex", events.before("codex"))[0] == "blocked"
    assert "there is no group 'group:shel'; did you mean 'group:shell'?" in gate.log


def test_a_plugin_that_is_not_loaded_closes_and_the_log_says_what_is_there(gate):
    text = gate.file.read_text()
    for wrong, why in (
        (text.replace('enable = ["own"]', 'enable = ["owl"]'), "loaded; did you mean 'own'?"),
        (text.replace('"plugins"', '"plugin"'), f"the folder {gate.folder / 'plugin'} does not"),
    ):
        gate.write(wrong)
        assert said(gate, "claude", events.before("claude"))[0] == "blocked" and why in gate.log


def test_rules_in_shadow_mode_are_no_guard_and_the_log_says_so(make_gate):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text(RULES)
    gate.write('shadow = ["tool_policy"]\n[gate]\nrules = "rules.toml"\n')
    assert said(gate, "gemini", events.before("gemini"))[0] == "blocked"
    assert "of tool_call; guards in shadow mode do not count: tool_policy" in gate.log


def test_paths_stay_in_the_folder_where_the_session_began(make_gate, tmp_path):
    gate, here = make_gate(), tmp_path / "project"
    (here / "src").mkdir(parents=True)
    gate.write('[gate]\npaths_within = ["."]\n')
    variables = {"CLAUDE_PROJECT_DIR": str(here)}

    def read(path, cwd=here):
        event = events.before("claude", tool_name="Read", tool_input={"file_path": str(path)})
        return said(gate, "claude", {**event, "cwd": str(cwd)}, variables=variables)

    assert read(here / "src" / "a.py")[0] == "runs"
    assert read("a.py", here / "src")[0] == "runs"
    assert read("../a.py", here / "src")[0] == "runs"
    assert "outside the allowed folders" in read("../../b.py", here / "src")[1]
    assert "outside the allowed folders" in read("/etc/passwd")[1]
    (here / "link").symlink_to("/etc")
    assert "outside the allowed folders" in read("link/passwd")[1]


def patch(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_the_paths_of_a_patch_of_codex_are_paths(make_gate, tmp_path):
    gate = make_gate()
    gate.write('[gate]\npaths_within = ["."]\n')

    gate.answer("codex", events.other("codex", "SessionStart", source="startup", cwd=str(tmp_path)))

    def apply(command, tool="apply_patch", number=[0]):
        number[0] += 1
        event = events.before("codex", command, number[0], tool_name=tool, cwd=str(tmp_path))
        return said(gate, "codex", event)

    assert apply(patch("*** Add File: a.py", "+*** not a file"))[0] == "runs"
    assert "outside" in apply(patch("*** Update File: ../a.py", "@@", "-a", "+b"))[1]
    assert "outside" in apply(patch("*** Update File: a.py", "*** Move to: /etc/b", "@@"))[1]
    assert "names no file" in apply(patch())[1]
    assert "no beginning" in apply("*** Add File: a.py")[1]
    assert "unknown kind" in apply(patch("*** Add File: a.py", "*** Rename File: /etc/b"))[1]
    inside = f"apply_patch <<'EOF'\n{patch('*** Delete File: /etc/b')}\nEOF"
    assert "outside" in apply(inside, "Bash")[1]


def test_changed_settings_rules_and_plugins_hold_for_the_next_event(gate):
    event = events.before("gemini", "rm a")
    assert said(gate, "gemini", event)[0] == "blocked"
    plugin = gate.folder / "plugins" / "own" / "plugin.py"
    plugin.write_text(plugin.read_text().replace("rm is not", "and even less is"))
    assert "even less" in said(gate, "gemini", event)[1]
    gate.write('[gate]\nrate_limit = 100\nlost = "fresh"\n')
    assert said(gate, "gemini", event)[0] == "runs"
    gate.write("")
    assert said(gate, "gemini", event)[0] == "blocked" and "names no guard" in gate.log


def test_what_the_server_writes_beside_its_plugins_is_no_change(make_gate):
    gate = make_gate()
    text = gate.plug().replace('"plugins"', '"."')
    shutil.move(gate.folder / "plugins" / "own", gate.folder / "own")
    (gate.folder / "plugins").rmdir()
    gate.write('journal = "calls.journal"\napprovals = "approvals.db"\n' + text)
    gate.answer("claude", events.before("claude"))
    assert gate.answer("claude", events.before("claude", number=2)) == (0, "", "")
    assert gate.answer("claude", events.after("claude")) == (0, "", "")
    assert not [*hook_files(gate, ".old")]


def hook_files(gate, ending):
    base = Path(hook.place(str(gate.file)))
    return base.parent.glob(f"{base.name}.*{ending}")


def test_a_call_that_began_before_a_change_ends_where_it_began(gate):
    gate.answer("claude", events.before("claude"))
    gate.write(gate.file.read_text() + "[gate]\ndeadline = 9\n")
    assert said(gate, "claude", events.before("claude", "rm a", 2))[0] == "blocked"
    assert gate.answer("claude", events.after("claude")) == (0, "", "")
    assert "never allowed this call" in said(gate, "claude", events.after("claude"))[1]


def test_a_session_that_ends_ends_the_calls_that_began_before_a_change(gate):
    gate.answer("claude", events.before("claude"))
    gate.write(gate.file.read_text() + "[gate]\ndeadline = 9\n")
    gate.answer("claude", events.before("claude", number=2))
    assert [*hook_files(gate, ".old")]
    gate.answer("claude", events.other("claude", "SessionEnd", reason="exit"))
    deadline = time.monotonic() + 30
    while [*hook_files(gate, ".old")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_many_first_events_at_once_start_one_server(gate):
    started = [gate.start("claude", "PreToolUse") for _ in range(12)]
    for number, each in enumerate(started):
        each.stdin.write(json.dumps(events.before("claude", "rm a", number)).encode())
        each.stdin.close()
    for each in started:
        with each:
            assert "no_rm" in each.stdout.read().decode()
    assert "Traceback" not in gate.log


def test_a_server_that_was_ended_is_started_again(gate):
    event = events.before("codex", "rm a")
    assert said(gate, "codex", event)[0] == "blocked"
    assert gate.stop()
    assert said(gate, "codex", event)[0] == "blocked"


def test_a_limit_counts_each_session_and_blocks_those_it_did_not_see_begin(make_gate):
    gate = make_gate()
    gate.write("[gate]\nrate_limit = 2\n")
    begin = events.other("claude", "SessionStart", source="startup")
    assert "began before the gate's server" in said(gate, "claude", events.before("claude"))[1]
    for session in ("one", "two"):
        own = {"session_id": session}
        assert gate.answer("claude", {**begin, **own}) == (0, "", "")
        found = [
            said(gate, "claude", events.before("claude", number=number, **own))
            for number in range(3)
        ]
        assert [each[0] for each in found] == ["runs", "runs", "blocked"]
        assert "limit of 2 calls per session reached" in found[2][1]
    resumed = {**begin, "session_id": "three", "source": "resume"}
    gate.answer("claude", resumed)
    event = events.before("claude", session_id="three")
    assert "blocked by gate_state" in said(gate, "claude", event)[1]
    gate.write('[gate]\nrate_limit = 2\nlost = "fresh"\n')
    assert said(gate, "claude", event)[0] == "runs"


@pytest.mark.parametrize("guard", [
    "no_loops()", "together(no_loops(), rate_limit(9))", "together(no_loops(), lambda tool: None)",
    'redact(reversible="Bash")', 'provenance({"x": "y"})', "rate_limit(9, hook='tool_call')",
])  # fmt: skip
def test_a_guard_with_a_memory_blocks_a_session_whose_beginning_was_not_seen(make_gate, guard):
    gate = make_gate()
    plugin = f"""\
from hookbus.gate import Tool
from hookbus.guards import no_loops, provenance, rate_limit, redact, together


def register(api):
    own = next(each for each in Tool.__subclasses__() if each.agent == "claude")
    for signal, receiver, options in {guard}.receivers:
        if signal == "pre_tool_call":
            api.connect(signal, receiver, own, weak=False, **options)
"""
    gate.write(gate.plug(plugin))
    assert "blocked by gate_state" in said(gate, "claude", events.before("claude"))[1], gate.log


def test_redaction_reaches_the_arguments_and_the_results(make_gate):
    gate = make_gate()
    gate.write("[gate]\nredact = { personal = true }\n")
    event = events.before("gemini", "mail ada@example.com")
    assert said(gate, "gemini", event) == ("runs", "{'command': 'mail <email>'}")
    result = {"llmContent": "from ada@example.com", "returnDisplay": ""}
    event = events.after("gemini", "mail <email>", result=result)
    assert said(gate, "gemini", event) == ("told", "from <email>")
    gate.write("[gate]\nredact = { personnel = true }\n")
    assert said(gate, "gemini", events.before("gemini"))[0] == "blocked"
    assert "personnel" in gate.log


def test_settings_that_another_user_may_write_close(gate):
    os.chmod(gate.file, 0o666)
    assert said(gate, "codex", events.before("codex"))[0] == "blocked"
    assert "world-writable" in gate.log


def test_a_project_cannot_bring_settings_of_its_own(gate, tmp_path, monkeypatch):
    (tmp_path / "hookbus.toml").write_text("[gate]\nrate_limit = 5\n")
    monkeypatch.chdir(tmp_path)
    event = events.before("claude", "rm a", cwd=str(Path.cwd()))
    assert outcome("claude", event, gate.answer("claude", event))[0] == "blocked"


@pytest.mark.parametrize("values", ["true", "false"])
def test_the_journal_contains_commands_and_results_only_if_the_settings_say_so(make_gate, values):
    gate = make_gate()
    redact = "redact = { personal = true }"
    gate.write(f'journal = "calls.journal"\n[gate]\n{redact}\nvalues = {values}\n')
    command = "mail ada@example.com"
    gate.answer("claude", events.before("claude", command))
    gate.answer("claude", events.after("claude", command, result="sent to ada@example.com"))
    gate.stop()
    records = [each.data for each in Journal.reading(gate.folder / "calls.journal").records()]
    text = json.dumps(records)
    found = ("mail <email>" in text, "sent to <email>" in text)
    assert records and found == ((values == "true"),) * 2
    assert "ada@example.com" not in text
