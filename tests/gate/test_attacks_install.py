"""What an attacker tried: files of agents that `install` must not harm, and gates that only look
installed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookbus import HookError, cli
from hookbus.gate import _files

from . import events

SECRET = "sk-s3cret"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, where the agent is Claude Code."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    return tmp_path


@pytest.fixture
def file(home):
    """The settings file of the agent."""
    return home / ".claude" / "settings.json"


@pytest.fixture
def run(capsys, gate, home):
    """`hookbus gate WORD claude`: give it the word, and it gives the code, stdout and stderr."""

    def play(word, *more):
        own = [] if word == "uninstall" else ["--settings", str(gate.file)]
        code = cli.main(["gate", word, "claude", *more, *own])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return play


def test_an_edit_that_is_made_while_the_gate_is_checked_is_not_lost(run, gate, file):
    edit = f'from pathlib import Path\nPath({str(file)!r}).write_text(\'{{"model": "new"}}\')\n'
    plugin = gate.folder / "plugins" / "own" / "plugin.py"
    plugin.write_text(edit + plugin.read_text())
    file.write_text('{"model": "old"}')
    assert run("install")[0] == 0
    found = json.loads(file.read_text())
    assert found["model"] == "new" and "PreToolUse" in found["hooks"]


def test_an_edit_that_is_made_just_before_the_file_is_replaced_refuses(file):
    file.write_text('{"model": "new"}')
    with pytest.raises(HookError, match="another program has just changed it"):
        _files.write_json(file, {}, read=b'{"model": "old"}')
    assert file.read_text() == '{"model": "new"}' and len(os.listdir(file.parent)) == 1


@pytest.mark.parametrize("command", [
    "cat src/hookbus/gate/hook.py", "lint /src/hookbus/gate/hook.py claude a 1 PreToolUse; true",
    "grep -I -S /src/hookbus/gate/hook.py *", "it's hookbus/gate/hook.py",
])  # fmt: skip
def test_a_hook_of_the_user_that_names_the_program_is_left_alone(run, file, command):
    mine = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    file.write_text(json.dumps(mine))
    run("install")
    assert json.loads(file.read_text())["hooks"]["PreToolUse"][0] == mine["hooks"]["PreToolUse"][0]
    run("uninstall")
    assert json.loads(file.read_text()) == mine


def test_installing_again_leaves_one_entry_of_the_gate(run, file):
    run("install")
    once = json.loads(file.read_text())
    own = once["hooks"]["PreToolUse"][0]["hooks"][0]
    mine = {"type": "command", "command": "mine"}
    twice = [{"matcher": "Bash", "hooks": [mine, own]}, {"hooks": [own]}, {"hooks": [own]}]
    file.write_text(json.dumps({"hooks": {**once["hooks"], "PreToolUse": twice}}))
    run("install")
    left = json.loads(file.read_text())["hooks"]["PreToolUse"]
    assert left == [{"matcher": "Bash", "hooks": [mine]}, {"hooks": [own]}]


@pytest.mark.parametrize("number", [
    "1e999", "NaN", "-Infinity", "0.12345678901234567890123", "1e-99999999999999999999",
])  # fmt: skip
def test_a_number_that_would_be_written_as_another_refuses(run, file, number):
    text = f'{{"a": {number}}}'
    file.write_text(text)
    code, _, err = run("install")
    assert code == 2 and f"the number {number} would" in err and file.read_text() == text


def test_numbers_that_stay_the_same_are_kept(run, file):
    file.write_text('{"a": [0.1, 1.50, 1e5, -0.0, 12345678901234567890123]}')
    assert run("install")[0] == 0
    assert json.loads(file.read_text())["a"] == [0.1, 1.5, 1e5, -0.0, 12345678901234567890123]


def test_a_file_that_install_has_made_is_removed_and_other_empty_lists_stay(run, file):
    run("install")
    assert run("uninstall")[0] == 0 and not file.exists()
    file.write_text('{"hooks": {"Notification": []}}')
    run("install")
    run("uninstall")
    assert json.loads(file.read_text()) == {"hooks": {"Notification": []}}


def test_half_of_a_surrogate_pair_refuses(run, file):
    file.write_text('{"a": "\\ud800"}')
    code, _, err = run("install")
    assert code == 2 and "half of a surrogate pair" in err
    assert file.read_text() == '{"a": "\\ud800"}' and len(os.listdir(file.parent)) == 1


def test_the_owner_of_the_file_stays(run, file):
    file.write_text("{}")
    other = 12345 if os.getuid() == 0 else -1
    os.chown(file, other, max(os.getgroups(), default=-1) if other == -1 else other)
    before = file.stat()
    assert run("install")[0] == 0
    assert (file.stat().st_uid, file.stat().st_gid) == (before.st_uid, before.st_gid)


def test_a_pipe_or_a_device_refuses(run, file):
    os.mkfifo(file)
    for word in ("install", "uninstall"):
        code, _, err = run(word)
        assert code == 2 and "not a regular file" in err and file.is_fifo()
    assert run("status")[0] == 0
    file.unlink()
    file.symlink_to("/dev/null")
    assert "not a regular file" in run("install")[2] and file.is_symlink()


def with_hook(**fields):
    return lambda entry: {"hooks": [{**entry["hooks"][0], **fields}]}


def with_word(old, new):
    return lambda entry: with_hook(command=entry["hooks"][0]["command"].replace(old, new))(entry)


CHANGES = {
    "a matcher": lambda entry: {**entry, "matcher": "Read"},
    "async": with_hook(**{"async": True}),
    "a short timeout": with_hook(timeout=1),
    "another type": with_hook(type="prompt"),
    "another event": with_word("PreToolUse", "Stop"),
    "another agent": with_word(" claude ", " codex "),
    "another ending": with_word("exit 2", "exit 0"),
}


def test_status_finds_an_entry_that_is_not_as_it_was_installed(run, file):
    run("install")
    good = json.loads(file.read_text())
    assert run("status")[0] == 0
    for what, change in CHANGES.items():
        hooks = {**good["hooks"], "PreToolUse": [change(good["hooks"]["PreToolUse"][0])]}
        file.write_text(json.dumps({"hooks": hooks}))
        code, out, _ = run("status", "--json")
        (row,) = json.loads(out)
        assert code == 1, what
        assert any("PreToolUse is not as install writes it" in each for each in row["problems"])


WRONG = f"[gate]\nredact = ['{SECRET}']\n"
RAISES = f"from hookbus import HookError\nraise HookError('{SECRET}')\n"


@pytest.mark.parametrize("reason", [f"[gate] redact = ['{SECRET}'] must be", "plugin own"])
def test_the_reason_why_nothing_loads_is_for_people_and_not_for_the_model(run, gate, reason):
    if "own" in reason:
        gate.plug(RAISES)
    else:
        gate.write(WRONG)
    for event in (events.before("claude"), events.after("claude"), events.prompt("claude")):
        answer = str(gate.answer("claude", event))
        assert f"{gate.file} is not loaded: hookbus gate status" in answer and SECRET not in answer
    assert reason in run("install")[2] and reason in gate.log


def start_typed(gate, agent, *words):
    command = [sys.executable, "-m", "hookbus", "gate", agent, *words, "--settings", str(gate.file)]
    own = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=own, **pipes)


SLOW = """\
import asyncio


async def wait(tool):
    open(__file__ + ".entered", "w").close()
    await asyncio.sleep(60)


def register(api):
    api.connect("pre_tool_call", wait, role="guard", name="wait")
    api.connect("post_tool_call", wait, role="guard", name="wait_after")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_typed_command_refuses_the_call(gate, number):
    gate.plug(SLOW, '["pre_tool_call", "post_tool_call"]')
    entered = gate.folder / "plugins" / "own" / "plugin.py.entered"
    with start_typed(gate, "codex") as started:
        started.stdin.write(json.dumps(events.before("codex")).encode())
        started.stdin.close()
        while not entered.exists():
            assert started.poll() is None
            time.sleep(0.02)
        started.send_signal(number)
        out, err = started.stdout.read(), started.stderr.read().decode()
    assert (started.returncode, out) == (2, b"") and f"stopped by signal {number}" in err


def test_a_wrong_deadline_of_the_typed_command_ends_the_turn_after_a_tool_of_claude(gate):
    with start_typed(gate, "claude", "--deadline", "0") as started:
        out, _ = started.communicate(json.dumps(events.after("claude")).encode())
    answer = json.loads(out)
    assert started.returncode == 0 and answer["continue"] is False
    assert "--deadline 0 must be" in answer["stopReason"]
