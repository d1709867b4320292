"""`install`, `uninstall`, `status` and the command that is installed."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookbus import __version__, cli
from hookbus.gate import _hook as hook

from . import events
from .events import AGENTS
from .reading import outcome

FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json",
         "gemini": ".gemini/settings.json"}  # fmt: skip
SHELLS = [each for each in ("sh", "bash") if shutil.which(each)]


@pytest.fixture(scope="module")
def ready(module_gates):
    """A gate that answers."""
    return module_gates("rm")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, and a project in it that is the current folder."""
    (tmp_path / "project").mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.fixture
def run(capsys, ready):
    """`hookbus gate`: give it words, and it gives its exit code, stdout and stderr."""

    def play(*words, settings=ready.file):
        own = ["--settings", str(settings)] if settings and words[0] != "uninstall" else []
        code = cli.main(["gate", *words, *own])
        said = capsys.readouterr()
        return code, said.out, said.err

    return play


def commands_in(file):
    hooks = json.loads(file.read_text())["hooks"]
    return {event: entries[-1]["hooks"][0]["command"] for event, entries in hooks.items()}


def shell(command, event, name="sh", **options):
    """Return what an agent gets from an installed command."""
    ended = subprocess.run([name, "-c", command], input=json.dumps(event).encode(),
                           capture_output=True, **options)  # fmt: skip
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_installed_refuses_and_lets_go(home, run, agent):
    code, out, err = run("install", agent)
    assert (code, err) == (0, "") and out.startswith(f"installed: {home / FILES[agent]}\n")
    trust = "start codex and trust the hooks of the gate, then " if agent == "codex" else ""
    assert out.endswith(f"\nnext: {trust}run hookbus gate try {agent}\n")
    assert out.count("\ncannot guard: ") >= 5
    commands = commands_in(home / FILES[agent])
    for name in SHELLS:
        event = events.before(agent, "rm a", cwd=str(home))
        answer = shell(commands[event["hook_event_name"]], event, name)
        assert outcome(agent, event, answer)[0] == "blocked" and "no_rm" in str(answer)
        prompt = events.prompt(agent)
        assert shell(commands[prompt["hook_event_name"]], prompt, name) == (0, "", "")
    own = json.loads((home / FILES[agent]).read_text())["hooks"]
    seconds = {entry["hooks"][0]["timeout"] for entries in own.values() for entry in entries}
    assert seconds == {86_400_000 if agent == "gemini" else 86_400}  # the agent's own opens
    for event in ("SessionStart", "Stop", "SessionEnd"):
        if event in commands:
            assert shell(commands[event], {"hook_event_name": event}) == (0, "", "")


BREAKS = {
    "the interpreter is gone": lambda command: command.replace(sys.executable, "/no/python"),
    "the hook is gone": lambda command: command.replace("hook.py", "no.py"),
    "the hook is empty": lambda command: command.replace(hook.FILE, "/dev/null"),
    "another program": lambda command: command.replace(sys.executable, "/bin/true"),
    "a program that fails": lambda command: command.replace(sys.executable, "/bin/false"),
    "no program": lambda command: command.replace(sys.executable, "/etc/passwd"),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hook_that_cannot_start_closes(home, run, agent):
    run("install", agent)
    commands = commands_in(home / FILES[agent])
    for what, broken in BREAKS.items():
        for event in (events.before(agent), events.after(agent), events.prompt(agent)):
            for name in SHELLS:
                answer = shell(broken(commands[event["hook_event_name"]]), event, name)
                found, value = outcome(agent, event, answer)
                assert "hookbus: the gate did not run" in str(value) or found == "ends", what
                assert found in ("blocked", "ends") or "a file" not in str(value)
        for event in ("SessionStart", "Stop", "SessionEnd"):
            if event in commands:
                assert shell(broken(commands[event]), {})[:2] == (0, "")


OTHER = {
    "model": "größer", "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "beep"}]}],
    }, "z": 1, "a": [1.5, None],
}  # fmt: skip


def test_nothing_else_in_the_file_is_lost_and_twice_is_once(home, run):
    real = home / "dotfiles.json"
    real.write_text(json.dumps(OTHER, ensure_ascii=False))
    real.chmod(0o640)
    file = home / FILES["claude"]
    file.parent.mkdir()
    file.symlink_to(real)
    run("install", "claude")
    once = real.read_text()
    assert run("install", "claude")[0] == 0 and real.read_text() == once
    assert file.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    found = json.loads(once)
    assert list(found) == list(OTHER) and "größer" in once
    assert found["hooks"]["PreToolUse"][0] == OTHER["hooks"]["PreToolUse"][0]
    assert found["hooks"]["Notification"] == OTHER["hooks"]["Notification"]
    assert run("uninstall", "claude")[1] == f"uninstalled: {file}\n"
    assert json.loads(real.read_text()) == OTHER
    assert run("uninstall", "claude")[1] == "not installed\n"


@pytest.mark.parametrize("text, why", [
    ("{,}", "is not plain JSON"), ("// mine\n{}", "is not plain JSON"), ("[]", "not a JSON object"),
    ('{"hooks": []}', "hooks are not an object"), ('{"hooks": {"Stop": {}}}', "hooks of Stop"),
    ('{"hooks": {"Stop": [{"command": "x"}]}}', "hooks of Stop"), ('{"a": 1, "a": 2}', "duplicate"),
])  # fmt: skip
def test_a_file_that_cannot_be_changed_without_a_loss_is_left_as_it_is(home, run, text, why):
    for agent in ("gemini", "codex"):
        file = home / FILES[agent]
        file.parent.mkdir()
        file.write_text(text)
        for command in ("install", "uninstall"):
            code, _, err = run(command, agent)
            assert code == 2 and str(file) in err and why in err and file.read_text() == text


def test_a_gate_that_does_not_answer_is_not_installed(home, run):
    (home / "hookbus.toml").write_text("[gate]\n")
    code, out, err = run("install", "codex", settings=home / "hookbus.toml")
    assert code == 2 and "names no guard" in err and not (home / ".codex").exists()
    code, out, err = run("install", "codex", settings=home / "none.toml")
    assert code == 2 and "cannot be read" in err
    for name in ("hookbus.toml", "none.toml"):
        assert run("stop", settings=home / name)[1] == "stopped\n"
    assert "there is no agent 'codx'; did you mean 'codex'?" in run("install", "codx")[2]


def test_the_files_are_where_the_options_and_variables_say(home, run, monkeypatch):
    run("install", "gemini", "--project")
    assert (home / "project" / FILES["gemini"]).exists()
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    run("install", "codex", "--deadline", "3")
    commands = commands_in(home / "elsewhere" / "hooks.json")
    assert " 3 PreToolUse; " in commands["PreToolUse"]
    assert run("install", "codex", "--user", "--project")[0] == 2


def test_status_says_whether_the_gate_holds(home, run, ready):
    code, out, _ = run("status", "--json")
    assert code == 0 and {each["gate"] for each in json.loads(out)} == {"not installed"}
    run("install", "claude")
    ready.answer("claude", events.before("claude"))
    code, out, _ = run("status", "claude", "--json")
    (row,) = json.loads(out)
    assert (code, row["problems"], row["gate"]) == (0, [], "answers")
    assert row["installed"] == [str(home / FILES["claude"])]
    assert row["last"]["at"].endswith("Z") and row["last"]["version"] == __version__
    out = run("status", "claude")[1]
    assert out.startswith("claude: works, in ") and f", by hookbus {__version__}" in out
    assert run("status", "codex", "--json")[1].count('"last": null') == 1


def test_status_names_the_files_of_the_gate_and_the_guards_in_shadow_mode(home, run, gate):
    text = gate.file.read_text()
    gate.write(f'journal = "calls.journal"\nshadow = ["tool_policy"]\n{text}')
    run("install", "claude", settings=gate.file)
    code, out, _ = run("status", "claude", settings=gate.file)
    log = f"{hook.place(str(gate.file))}.log"
    files = f"settings: {gate.file}\n  journal: {gate.folder / 'calls.journal'}\n  log: {log}\n"
    assert code == 0 and out.endswith(files)
    assert f"what tool_policy would block: {gate.file} puts this guard in shadow mode" in out
    gate.write("[gate]\nrule = 1\n")
    code, out, _ = run("status", "claude", settings=gate.file)
    assert code == 1 and out.startswith("claude: has a problem, in ")
    assert out.count("unknown key 'rule'") == 1 and out.endswith(f"log: {log}\n")


def test_status_shows_a_rule_for_an_argument_that_no_call_has(home, run, gate):
    rules = 'deny = [{ "group:shell" = { comand = "*rm *" } }, "Bsh"]\ndefault = "allow"\n'
    (gate.folder / "rules.toml").write_text(rules)
    gate.write('[gate]\nrules = "rules.toml"\n')
    run("install", "claude", settings=gate.file)
    assert "rule that matched no call" not in run("status", "claude", settings=gate.file)[1]
    gate.answer("claude", events.before("claude"))
    code, out, _ = run("status", "claude", settings=gate.file)
    assert code == 0 and out.count("rule that matched no call so far: deny: ") == 2
    assert "'comand', which no tool that it matches has; did you mean 'command'?" in out
    assert "'Bsh' matches no tool; did you mean 'Bash'?" in out


def problems(run, agent):
    code, out, _ = run("status", agent, "--json")
    (row,) = json.loads(out)
    assert code == (1 if row["problems"] else 0)
    return "\n".join(row["problems"])


def test_status_finds_what_switches_a_gate_off(home, run, tmp_path):
    run("install", "claude")
    file, project = home / FILES["claude"], home / "project" / ".claude" / "settings.local.json"
    good = json.loads(file.read_text())
    project.parent.mkdir()
    project.write_text('{"disableAllHooks": true}')
    assert f"{project}: disableAllHooks" in problems(run, "claude")
    project.unlink()

    def change(name, value):
        file.write_text(json.dumps({**good, "hooks": {**good["hooks"], name: value}}))
        return problems(run, "claude")

    assert "has the type 'shout'" in change("Stop", [{"hooks": [{"type": "shout"}]}])
    other = {"hooks": [{"type": "command", "command": "echo updatedInput"}]}
    assert "rewrites arguments" in change("PreToolUse", [*good["hooks"]["PreToolUse"], other])
    assert "no entry for PostToolUse" in change("PostToolUse", [])
    text = json.dumps(good)
    file.write_text(text.replace(sys.executable, "/no/python"))
    assert "the interpreter" in problems(run, "claude")
    file.write_text(text[:-1])
    assert "is not plain JSON" in problems(run, "claude")


def test_status_finds_what_switches_the_gates_of_gemini_and_codex_off(home, run):
    run("install", "gemini")
    own = home / "project" / ".gemini" / "settings.json"
    own.parent.mkdir()
    own.write_text('{"hooksConfig": {"enabled": false, "disabled": ["hookbus"]}}')
    found = problems(run, "gemini")
    assert "hooksConfig.enabled = false" in found and "hooksConfig.disabled" in found
    run("install", "codex")
    (home / ".codex" / "config.toml").write_text("[features]\nhooks = false\n")
    found = problems(run, "codex")
    assert "[features] hooks = false" in found and "codex is not on the PATH" in found


CODEX = """\
#!{python}
import json, pathlib, sys
hooks = json.loads(pathlib.Path("{hooks}").read_text())["hooks"]["PreToolUse"][0]["hooks"]
given = {{"trustStatus": "{status}", "enabled": {enabled}, "eventName": "preToolUse"}}
own = [each | given for each in hooks]
other = {{"command": "audit hookbus/gate/hook.py", "trustStatus": "{other}"}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "hooks/list":
        result = {{"data": [{{"hooks": [other, *own]}}]}}
        print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""


def played(home, monkeypatch, **how):
    """Put a Codex on the PATH that knows its hooks."""
    codex, hooks = home / "codex", home / ".codex" / "hooks.json"
    codex.write_text(CODEX.format(python=sys.executable, hooks=hooks, **how))
    codex.chmod(0o755)
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)


@pytest.mark.parametrize("other", ["trusted", "untrusted"])
@pytest.mark.parametrize("status", ["trusted", "untrusted", "modified"])
def test_status_asks_codex_whether_it_trusts_the_hook(home, run, monkeypatch, status, other):
    played(home, monkeypatch, status=status, other=other, enabled=True)
    run("install", "codex")
    found = problems(run, "codex")
    untrusted = f"for preToolUse, because they are {status}: start codex, open /hooks, and trust"
    assert found == "" if status == "trusted" else untrusted in found


def test_status_asks_codex_whether_the_hook_is_enabled(home, run, monkeypatch):
    played(home, monkeypatch, status="trusted", other="trusted", enabled=False)
    run("install", "codex")
    assert "for preToolUse, because it is disabled" in problems(run, "codex")


def typed(ready, *words, given, seconds=60):
    command = [sys.executable, "-m", "hookbus", "gate", *words, "--settings", str(ready.file)]
    own = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    ended = subprocess.run(command, input=given, capture_output=True, env=own, timeout=seconds)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def test_the_typed_command_answers_as_the_hook_does(ready):
    event = events.before("codex", "rm a")
    code, out, err = typed(ready, "codex", given=json.dumps(event).encode())
    assert (code, out) == (2, "") and "no_rm" in err
    assert typed(ready, "codex", given=json.dumps(events.prompt("codex")).encode())[0] == 0
    code, out, err = typed(ready, "claude", given=b"nothing")
    assert code == 2 and err.startswith("hookbus: the event is not valid JSON")
    code, out, err = typed(ready, "claude", "--event", "PostToolUse", given=b"nothing")
    assert code == 0 and json.loads(out)["continue"] is False


def test_stop_ends_the_server_and_serve_runs_one_in_the_foreground(make_gate, run):
    gate = make_gate()
    gate.write(gate.plug())
    gate.answer("codex", events.before("codex"))
    assert run("stop", settings=gate.file)[1] == "stopped\n"
    assert run("stop", settings=gate.file)[1] == "no server is running\n"
    command = [sys.executable, "-m", "hookbus", "gate", "serve", "--settings", str(gate.file)]
    own = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    with subprocess.Popen(command, env=own) as server:
        deadline = time.monotonic() + 30
        while not os.path.exists(f"{hook.place(str(gate.file))}.sock"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "no_rm" in gate.answer("codex", events.before("codex", "rm a"))[2]
        assert "a server is already running for" in run("serve", settings=gate.file)[2]
        assert run("stop", settings=gate.file)[1] == "stopped\n"
    assert server.returncode == 0
