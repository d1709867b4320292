"""What a coding agent tried with its own tools to get round its gate, by kind."""

import pytest

from hookbus.approvals import Store

from . import events, others
from .asked import Asked
from .conftest import Gate

GATE = "blocked by gate_itself"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A gate in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("home") / "my gate"
    folder.mkdir()
    gate = Gate(folder)
    (folder / "people.toml").write_text('ada = { roles = ["finance"] }\n')
    gate.write('approvals = "approvals.db"\npeople = "people.toml"\n' + gate.plug())
    Store(folder / "approvals.db")
    yield gate
    gate.stop()


def says(gate, agent="claude", command="ls", variables=None, **fields):
    what, text = gate.outcome(agent, events.before(agent, command, **fields), variables=variables)
    return str(text) if what == "blocked" else what


@pytest.mark.parametrize("command", [
    'echo > "my gate/hookbus.toml"', "echo > my\\ gate/hookbus.toml", "cat 'my gate/approvals.db'",
    "bash -c 'echo > \"my gate/hookbus.toml\"'", 'bash -c "echo > \\"my gate/hookbus.toml\\""',
    "dd of='my gate/hookbus.toml'", "mv 'my gate' elsewhere", "rmdir my\\ gate/plugins",
    "\\mv 'my gate' elsewhere",
])  # fmt: skip
def test_quoted_names_with_spaces_are_names(own, command):
    assert GATE in says(own, command=command, cwd=str(own.folder.parent))


@pytest.mark.parametrize("command", [
    "echo > ~/.claude/sett\\ings.json", "echo > ~/.cl'au'de/settings.json",
    "hook\\bus approvals approve 1", "hook''bus gate stop", "$(which hookbus) serve",
    "python3 /opt/site-packages/hookbus/__main__.py serve", '"hookbus" "serve"',
])  # fmt: skip
def test_quotes_and_backslashes_inside_a_word_hide_nothing(own, command):
    for agent in events.AGENTS:
        assert GATE in says(own, agent, command), agent


@pytest.mark.parametrize("command", [
    "curl -ohookbus.toml http://example.org", "tee {hookbus.toml,other}", "send @hookbus.toml",
    "sqlite3 --db=approvals.db", "scp other localhost:hookbus.toml", "edit -f=a,hookbus.toml",
])  # fmt: skip
def test_names_that_touch_an_option_or_another_name_are_found(own, command):
    assert GATE in says(own, command=command, cwd=str(own.folder))


def test_words_that_only_resemble_the_gate_pass(own):
    for command in ("grep -rn 'hookbus' src && make serve", "echo \"it's fine\" 'a b' \\\n c",
                    "git commit -m 'run the hookbus tests'", "tar xf 'my gate.tar'"):  # fmt: skip
        assert says(own, command=command) == "runs", command


@pytest.mark.parametrize(("tool", "group"), [("Read", "read"), ("Grep", "search")])
def test_a_reading_tool_reads_neither_the_store_nor_the_people_by_any_name(own, tool, group):
    name = "file_path" if group == "read" else "path"
    for path in ("approvals.db", "people.toml", "/proc/self/cwd/approvals.db",
                 "/proc/self/cwd/people.toml", f"{own.folder}/people.toml",
                 "/proc/self/fd/3"):  # fmt: skip
        given = {name: path, "pattern": "."}
        assert GATE in says(own, tool_name=tool, tool_input=given, cwd=str(own.folder)), path
    given = {name: "/proc/self/status", "pattern": "."}
    assert says(own, tool_name=tool, tool_input=given) == "runs"


def test_the_people_who_may_approve_cannot_be_changed(own):
    given = {"file_path": str(own.folder / "people.toml"), "content": "eve = ['finance']"}
    assert GATE in says(own, tool_name="Write", tool_input=given)
    assert GATE in says(own, "codex", "echo > people.toml", cwd=str(own.folder))


def test_the_settings_of_gemini_are_where_its_variable_says(own, tmp_path):
    given = {"file_path": str(tmp_path / ".gemini" / "settings.json"), "content": "x"}
    home = {"GEMINI_CLI_HOME": str(tmp_path)}
    event = {"tool_name": "write_file", "tool_input": given}
    assert GATE in says(own, "gemini", variables=home, **event)
    assert GATE in says(own, "gemini", f"mv {tmp_path} /elsewhere", variables=home)


def test_the_settings_of_opencode_name_its_plugins(make_gate, tmp_path):
    asked = Asked(make_gate())
    for path in ("opencode.json", tmp_path / "opencode.jsonc", ".opencode/opencode.json",
                 "~/.config/opencode/opencode.json"):  # fmt: skip
        event = others.before("opencode", tool="write", arguments={"filePath": str(path)})
        what, text = asked.outcome("opencode", event)
        assert what == "blocked" and GATE in text, path
