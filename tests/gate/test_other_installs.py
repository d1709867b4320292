"""`install`, `status` and `uninstall` for Cursor, GitHub Copilot CLI and OpenCode."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from hookbus import cli
from hookbus.gate import _hook as hook

from . import others
from .asked import Asked
from .others import AGENTS

FILES = {"cursor": ".cursor/hooks.json", "copilot": ".copilot/hooks/hookbus.json",
         "opencode": ".config/opencode/plugins/hookbus.js"}  # fmt: skip


@pytest.fixture(scope="module")
def asked(module_gates):
    found = Asked(module_gates("others"))
    for agent in AGENTS:
        found.begin(agent)
    return found


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.fixture
def run(capsys, asked):
    def play(*words):
        own = ["--settings", str(asked.gate.file)] if words[0] != "uninstall" else []
        code = cli.main(["gate", *words, *own])
        said = capsys.readouterr()
        return code, said.out, said.err

    return play


def problems(run, agent):
    code, out, _ = run("status", agent, "--json")
    (row,) = json.loads(out)
    assert code == (1 if row["problems"] else 0)
    return "\n".join(row["problems"])


@pytest.mark.parametrize("agent", AGENTS)
def test_install_status_and_uninstall(home, run, agent):
    file = home / FILES[agent]
    code, out, err = run("install", agent)
    assert (code, err) == (0, "") and out.startswith(f"installed: {file}\n")
    assert out.endswith(f"run hookbus gate try {agent}\n") == (agent != "cursor")
    assert ("hookbus has not been tested with this agent" in out) == (agent == "cursor")
    once = file.read_text()
    assert run("install", agent)[0] == 0 and file.read_text() == once
    assert problems(run, agent) == ""
    file.write_text(once.replace("hook.py", "gone.py"))
    file.write_text(once.replace(sys.executable, "/no/python"))
    assert "the interpreter of" in problems(run, agent)
    file.write_text(once)
    assert run("uninstall", agent)[1] == f"uninstalled: {file}\n" and not file.exists()
    assert run("uninstall", agent)[1] == "not installed\n"
    run("install", agent, "--project")
    where = {"copilot": ".github/hooks/hookbus.json", "opencode": ".opencode/plugins/hookbus.js"}
    assert (home / "project" / where.get(agent, FILES[agent])).exists()


@pytest.mark.parametrize("agent", ["cursor", "copilot"])
def test_other_hooks_of_the_file_stay_and_what_switches_the_gate_off_is_found(home, run, agent):
    file, name = home / FILES[agent], others.BEFORE[agent]
    file.parent.mkdir(parents=True)
    key = "command" if agent == "cursor" else "bash"
    own = {"version": 1, "hooks": {name: [{key: "mine"}], "stop": [{key: "beep"}]}, "more": "ö"}
    file.write_text(json.dumps(own))
    run("install", agent)
    found = json.loads(file.read_text())
    assert found["hooks"][name][0] == {key: "mine"} and len(found["hooks"][name]) == 2
    changed = json.loads(json.dumps(found))
    changed["hooks"][name][0][key] = "echo updated_input modifiedArgs"
    changed["hooks"][name][1]["matcher"] = "Read"
    file.write_text(json.dumps(changed))
    assert "rewrites arguments" in problems(run, agent)
    assert "is not as install writes it" in problems(run, agent)
    file.write_text(json.dumps({**found, "disableAllHooks": True}))
    assert ("disableAllHooks switches the gate off" in problems(run, agent)) == (agent == "copilot")
    file.write_text(json.dumps(found))
    run("uninstall", agent)
    assert json.loads(file.read_text()) == own
    file.write_text('{"version": 2, "hooks": {}}')
    assert "its version is not 1" in run("install", agent)[2]


def test_a_plugin_of_opencode_that_is_not_the_gates_is_left_alone(home, run):
    file = home / FILES["opencode"]
    run("install", "opencode")
    text = file.read_text()
    file.write_text(text.replace("throws", "passes"))
    assert "is not as install writes it" in problems(run, "opencode")
    file.write_text("export const mine = async () => ({})\n")
    for command in ("install", "uninstall"):
        code, _, err = run(command, "opencode")
        assert code == 2 and "it is not the plugin of the gate" in err
    assert file.read_text().startswith("export const mine")


def test_a_plugin_of_opencode_whose_words_start_another_program_is_not_sound(home, run):
    run("install", "opencode")
    file = home / FILES["opencode"]
    text = file.read_text()
    for old, new in (('"-I", "-S"', '"-x", "-y"'), (f'"{sys.executable}"', '"true"'),
                     ('"opencode"', '"claude"'), ('"10"]', '10]')):  # fmt: skip
        assert text.count(old) == 1, old
        file.write_text(text.replace(old, new))
        assert "is not as install writes it" in problems(run, "opencode"), new
    assert run("install", "opencode")[0] == 0 and file.read_text() == text


BREAKS = {
    "the interpreter is gone": (sys.executable, "/no/python"), "the hook": ("hook.py", "no.py"),
    "an empty hook": (hook.FILE, "/dev/null"), "another program": (sys.executable, "/bin/true"),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKS)
def test_a_command_that_cannot_start_closes(home, run, what):
    for agent in ("cursor", "copilot"):
        run("install", agent)
        hooks = json.loads((home / FILES[agent]).read_text())["hooks"]
        for make in (others.before, others.prompt, others.after):
            name, given = make(agent)
            (entry,) = hooks[name]
            command = entry.get("command", entry.get("bash")).replace(*BREAKS[what])
            ended = subprocess.run(["sh", "-c", command], input=json.dumps(given),
                                   capture_output=True, text=True)  # fmt: skip
            answer = ended.returncode, ended.stdout, ended.stderr
            assert "hookbus: the gate did not run" in ended.stdout + ended.stderr
            if make is others.before or (agent, make) == ("cursor", others.prompt):
                assert others.outcome(agent, name, given, answer)[0] == "blocked"
            if (agent, make) == ("copilot", others.after):
                assert "a file" not in others.outcome(agent, name, given, answer)[1]


PLAY = """\
import {{ hookbus }} from "{file}"
const hooks = await hookbus({{ directory: "/tmp" }})
const output = {{ args: {{ command: process.argv[2] }} }}
try {{
  await hooks["tool.execute.before"]({{ tool: "bash", sessionID: "s", callID: "c" }}, output)
  console.log("runs", output.args.command)
}} catch (error) {{ console.log("blocked", error.message) }}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("what", BREAKS)
def test_the_plugin_of_opencode_throws_if_its_hook_cannot_start(home, run, what):
    run("install", "opencode")
    file = home / "hookbus.mjs"
    file.write_text((home / FILES["opencode"]).read_text())
    (home / "play.mjs").write_text(PLAY.format(file=file))

    def play(command):
        ended = subprocess.run(["node", str(home / "play.mjs"), command], capture_output=True,
                               text=True, env={"PATH": os.environ["PATH"]})  # fmt: skip
        return ended.stdout.strip() or ended.stderr

    if what == "the hook":
        assert play("ls") == "runs ls" and play("echo OLD") == "runs echo NEW"
        assert "blocked by guard: not this" in play("forbidden")
    file.write_text(file.read_text().replace(*BREAKS[what]))
    assert play("ls") == "blocked hookbus: the gate did not run, so the event is blocked"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_plugin_of_opencode_refuses_an_answer_that_it_cannot_use(home, run, tmp_path):
    run("install", "opencode")
    (home / "hookbus.mjs").write_text((home / FILES["opencode"]).read_text().replace(
        f'"{sys.executable}"', f'"{tmp_path}/answers"'))  # fmt: skip
    (home / "play.mjs").write_text(PLAY.format(file=home / "hookbus.mjs"))
    for answer, said in (("", "runs ls"), ('{"arguments": {"command": "pwd"}}', "runs pwd"),
                         ('{"hookSpecificOutput": {"permissionDecision": "deny"}}', "blocked"),
                         ('{"arguments": ["a"]}', "blocked"), ('{"arguments": null}', "blocked"),
                         ("null", "blocked"), ("{}", "blocked"), ("text", "blocked")):  # fmt: skip
        (tmp_path / "answers").write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\nexit {hook.GO}\n")
        (tmp_path / "answers").chmod(0o700)
        ended = subprocess.run(["node", str(home / "play.mjs"), "ls"], capture_output=True,
                               text=True, env={"PATH": os.environ["PATH"]})  # fmt: skip
        assert ended.stdout.startswith(said), answer
