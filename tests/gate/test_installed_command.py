"""The command in the settings file of an agent, and what `status` says of its settings."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from hookbus import cli
from hookbus.gate import _hook as hook

from . import events
from .conftest import Gate
from .events import AGENTS
from .reading import outcome
from .test_install import FILES, SHELLS, commands_in, shell


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, where no agent is on the PATH."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("HOME", str(tmp_path)), ("PATH", "/usr/bin:/bin"), ("COLUMNS", "1000")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(agent, gate):
    assert cli.main(["gate", "install", agent, "--settings", str(gate.file)]) == 0


@pytest.fixture
def quoted(make_gate, tmp_path):
    """A gate in a folder whose name a shell would take apart."""
    folder = tmp_path / 'it\'s $HOME; `echo` "ö" & *'
    folder.mkdir()
    gate = Gate(folder)
    gate.write(gate.plug())
    yield gate
    gate.stop()


@pytest.mark.parametrize("agent", AGENTS)
def test_paths_with_quotes_and_spaces_reach_the_hook(home, quoted, agent):
    install(agent, quoted)
    commands = commands_in(home / FILES[agent])
    for name in SHELLS:
        for command, expected in (("rm a", "blocked"), ("ls", "runs")):
            event = events.before(agent, command)
            answer = shell(commands[event["hook_event_name"]], event, name)
            assert outcome(agent, event, answer)[0] == expected, answer


def test_the_command_is_the_same_in_every_release_so_that_codex_trusts_it_still(home, gate):
    install("codex", gate)
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    words = [sys.executable, "-I", "-S", hook.FILE, "codex", str(gate.file), "10", "PreToolUse"]
    ending = (
        "c=$?; [ $c = 77 ] && exit 0; [ $c = 78 ] || echo 'hookbus: the gate did not run, so the "
        "event is blocked' >&2; exit 2"
    )
    command = f"{shlex.join(words)}; {ending}"
    expected = {"type": "command", "command": command, "timeout": 86_400}
    assert hooks["PreToolUse"] == [{"hooks": [expected]}]
    assert [each.name for each in (home / ".codex").iterdir()] == ["hooks.json"]  # no trust in it


def test_the_entries_of_claude_code_block_where_its_release_knows_how_to(home, gate):
    install("claude", gate)
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    own = [each for entries in hooks.values() for entry in entries for each in entry["hooks"]]
    assert len(own) == 6 and {each["onFailure"] for each in own} == {"block"}


def status(capsys, gate, agent="codex"):
    capsys.readouterr()
    cli.main(["gate", "status", agent, "--json", "--settings", str(gate.file)])
    (row,) = json.loads(capsys.readouterr().out)
    return row


def test_status_says_what_an_open_stdin_of_codex_means(home, gate, capsys):
    install("codex", gate)
    assert not [each for each in status(capsys, gate)["cannot"] if "codex_stdin" in each]
    gate.write(gate.file.read_text() + '[gate]\ncodex_stdin = "open"\n')
    (limit,) = [each for each in status(capsys, gate)["cannot"] if "codex_stdin" in each]
    assert limit.startswith("what a model types into a running command")
    assert limit.endswith(f'{gate.file} has codex_stdin = "open"')


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_status_finds_a_hook_of_an_unknown_type_and_a_hook_file_that_is_gone(
    home, gate, capsys, agent
):
    install(agent, gate)
    file = Path(home / FILES[agent])
    good = json.loads(file.read_text())
    shout = {"hooks": [{"type": "shout"}]}
    file.write_text(json.dumps({"hooks": {**good["hooks"], "Notification": [shout]}}))
    problems = "\n".join(status(capsys, gate, agent)["problems"])
    assert f"has the type 'shout', and {agent} then runs no hook of this file" in problems
    gone = hook.FILE.replace("/hookbus/gate", "/gone/hookbus/gate")
    file.write_text(json.dumps(good).replace(hook.FILE, gone))
    again = f"run hookbus gate install {agent}"
    assert f"the hook of {file} is gone: {gone}: {again}" in status(capsys, gate, agent)["problems"]
