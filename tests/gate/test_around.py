"""What would go round the gate."""

import os

import pytest

from hookbus.approvals import Store

from . import events


@pytest.fixture(scope="module")
def own(module_gates):
    gate = module_gates("own")
    gate.write('journal = "calls.journal"\napprovals = "approvals.db"\n' + gate.plug())
    Store(gate.folder / "approvals.db")
    return gate


def says(gate, agent, command="ls", variables=None, **fields):
    event = events.before(agent, command, **fields)
    what, text = gate.outcome(agent, event, variables=variables)
    return str(text) if what == "blocked" else what


GATE = "blocked by gate_itself"


@pytest.mark.parametrize("command", [
    "cat {file}", "cd {folder}; cat plugins/own/plugin.py > /dev/null; echo > ./hookbus.toml",
    "sed -i s/a/b/ '{folder}/plugins/own/plugin.py'", "sqlite3 {folder}/approvals.db",
    "rm {folder}/calls.journal", "echo '{{}}' > ~/.claude/settings.json",
    "echo '{{}}' > .claude/settings.local.json", "cp x $HOME/.codex/config.toml",
    "tee -a .gemini/settings.json", "hookbus approvals approve 1a2b",
    "python -m hookbus gate stop", "HOOKBUS gate uninstall claude", "ls /tmp/hookbus-{uid}",
])  # fmt: skip
def test_an_agent_cannot_reach_its_gate_with_a_shell(own, command):
    found = command.format(file=own.file, folder=own.folder, uid=os.getuid())
    for agent in events.AGENTS:
        assert GATE in says(own, agent, found, cwd=str(own.folder)), agent


def test_an_agent_cannot_write_what_its_gate_reads_but_may_read_it(own, tmp_path):
    (tmp_path / "link").symlink_to(own.folder)
    write = {"tool_name": "Write", "cwd": str(tmp_path)}
    for path in (own.file, own.folder / "plugins" / "own" / "new.py", "link/hookbus.toml",
                 "~/.claude/settings.json", ".claude/settings.local.json",
                 own.folder / "plugins" / ".." / "hookbus.toml",
                 own.folder / "calls.journal-spool-0123456789abcdef"):  # fmt: skip
        given = {"file_path": str(path), "content": "x"}
        assert GATE in says(own, "claude", tool_input=given, **write), path
    for path in (own.file, own.folder / "plugins" / "own" / "plugin.py"):
        given = {"file_path": str(path)}
        assert says(own, "claude", tool_name="Read", tool_input=given) == "runs"
    for name in ("approvals.db", "approvals.db-wal"):
        given = {"file_path": str(own.folder / name)}
        assert GATE in says(own, "claude", tool_name="Read", tool_input=given)


def test_the_settings_of_an_agent_are_where_its_variables_say(own):
    variables = {"CLAUDE_CONFIG_DIR": "/tmp/elsewhere", "CODEX_HOME": "/tmp/codex"}
    for path in ("/tmp/elsewhere/settings.json", "/tmp/codex/config.toml"):
        given = {"file_path": path, "content": "x"}
        what = says(own, "claude", variables=variables, tool_name="Write", tool_input=given)
        assert GATE in what
        assert says(own, "claude", tool_name="Write", tool_input=given, number=2) == "runs"


def test_the_home_is_that_of_the_agent(own):
    home = {"HOME": str(own.folder)}
    for command in ("cat ~/hookbus.toml", "cat $HOME/hookbus.toml", 'cat "${HOME}/hookbus.toml"'):
        assert GATE in says(own, "codex", command, variables=home)
    given = {"file_path": "~/hookbus.toml", "content": "x"}
    assert GATE in says(own, "claude", tool_name="Write", tool_input=given, variables=home)
    assert says(own, "codex", "cat ~/hookbus.toml", number=2) == "runs"


def test_texts_that_only_mention_the_gate_are_no_commands(own):
    given = {"file_path": "/tmp/notes.md", "content": "see hookbus gate and .claude/settings.json"}
    assert says(own, "claude", tool_name="Write", tool_input=given) == "runs"
    given = {"title": "hookbus gate"}
    assert says(own, "claude", tool_name="mcp__issues__create", tool_input=given) == "runs"
    given = {"command": "hookbus gate stop"}
    assert GATE in says(own, "claude", tool_name="mcp__shell__run", tool_input=given)
    given = {"jobs": [{"name": "a", "args": ["hookbus", "approvals approve 1"]}]}
    assert says(own, "claude", tool_name="mcp__shell__run", tool_input=given) == "runs"
    given = {"jobs": [{"name": "a", "args": ["hookbus approvals approve 1"]}]}
    assert GATE in says(own, "claude", tool_name="mcp__shell__run", tool_input=given)
    given = {"path": str(own.file)}
    assert GATE in says(own, "claude", tool_name="mcp__files__write", tool_input=given)


def test_no_operator_can_switch_the_guard_of_the_gate_off(own):
    own.write('shadow = ["gate_itself"]\n' + own.file.read_text())
    assert GATE in says(own, "codex", "hookbus gate stop")


def test_a_patch_of_codex_cannot_reach_the_gate(own):
    patch = f"*** Begin Patch\n*** Update File: {own.file}\n@@\n-a\n+b\n*** End Patch"
    assert GATE in says(own, "codex", patch, tool_name="apply_patch")
    other = "*** Begin Patch\n*** Add File: notes.md\n+hookbus gate\n*** End Patch"
    assert says(own, "codex", other, tool_name="apply_patch") == "runs"


def test_nothing_can_be_typed_into_a_shell_of_codex(module_gates):
    gate = module_gates("rm")
    event = events.before("codex", "bash")
    assert gate.outcome("codex", event) == ("runs", {"command": "exec </dev/null\nbash"})
    patch = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"
    alone = f"apply_patch <<'EOF'\n{patch}\nEOF\n"
    event = events.before("codex", alone, 2)
    assert gate.outcome("codex", event) == ("runs", {"command": alone})
    for more in (alone + "bash", f"apply_patch <<EOF\n{patch}\nEOF",
                 f"apply_patch <<'EOF'\n{patch}\nEOF\nbash\nEOF"):  # fmt: skip
        command = gate.outcome("codex", events.before("codex", more, 3))[1]["command"]
        assert command == f"exec </dev/null\n{more}"
    assert "opens the terminal" in says(gate, "codex", "exec </dev/tty; bash", number=4)
    assert "stdin" in says(gate, "codex", tool_input={"argv": ["bash"]}, number=5)
    gate.write(gate.file.read_text() + '[gate]\ncodex_stdin = "open"\n')
    assert gate.answer("codex", events.before("codex", "bash", 6)) == (0, "", "")
