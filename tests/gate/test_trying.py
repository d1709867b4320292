"""`hookbus gate try`, with an agent that is a few lines: it asks its model, and obeys its hooks."""

import os
import sys

import pytest

from hookbus import cli

AGENT = """\
#!{python}
import json, os, pathlib, subprocess, sys, urllib.request

assert os.environ["COPILOT_PROVIDER_API_KEY"] == "none" and "GH_TOKEN" not in os.environ
url = os.environ["COPILOT_PROVIDER_BASE_URL"] + "/chat/completions"


def ask(messages):
    body = json.dumps({{"messages": messages, "tools": ["bash"], "stream": True}}).encode()
    with urllib.request.urlopen(url, body) as answer:
        lines = [line[6:] for line in answer.read().decode().splitlines() if line]
    return json.loads(lines[0])["choices"][0]["delta"]


def guarded(arguments):
    file = pathlib.Path.home() / ".copilot" / "hooks" / "hookbus.json"
    event = {{"sessionId": "s", "cwd": os.getcwd(), "toolName": "bash", "toolArgs": arguments}}
    for entry in json.loads(file.read_text())["hooks"]["preToolUse"] if file.exists() else ():
        hook = subprocess.run(["sh", "-c", entry["bash"]], input=json.dumps(event).encode(),
                              capture_output=True)
        answer = json.loads(hook.stdout or "{{}}")
        if hook.returncode or answer.get("permissionDecision") == "deny":
            return answer.get("permissionDecisionReason", "hook errored")


{play}
"""
CALLS = """\
call = ask([])["tool_calls"][0]["function"]
arguments = json.loads(call["arguments"])
refused = guarded(arguments)
if refused is None:
    subprocess.run(["sh", "-c", arguments["command"]])
ask([{"role": "tool", "content": refused or "ran"}])
print("done")
"""
PLAYS = {
    "calls": CALLS, "is silent": "", "stops": "sys.exit('no network')",
    "keeps the call to itself": 'ask([])\nask([{"role": "tool", "content": "I would rather not"}])',
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, gate):
    for name in ("COPILOT_HOME", "COPILOT_PROVIDER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GH_TOKEN", "a secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("COLUMNS", "1000")

    def play(*words, plays="calls"):
        if words[0] == "try":
            agent = tmp_path / "copilot"
            agent.write_text(AGENT.format(python=sys.executable, play=PLAYS[plays]))
            agent.chmod(0o755)
        own = ["--settings", str(gate.file)] if words[0] == "install" else []
        code = cli.main(["gate", *words, *own])
        return code, capsys.readouterr().out.strip()

    return play


def test_an_agent_whose_calls_come_to_the_gate_is_live(run, gate):
    run("install", "copilot")
    assert run("try", "copilot") == (0, "live")
    gate.write("[gate]\nrule = 1\n")
    code, out = run("try", "copilot")
    assert code == 1 and "not live: the gate blocked the call without checking it: hookbus: " in out
    assert f"\n- hookbus: {gate.file}: [gate] has an unknown key 'rule'" in out


@pytest.mark.parametrize("plays, why", [
    ("calls", "copilot ran a command that the gate blocks"),
    ("is silent", "copilot called no tool: it wrote nothing"),
    ("stops", "copilot called no tool: no network"),
    ("keeps the call to itself", "copilot did not ask the gate about a call: I would rather not"),
])  # fmt: skip
def test_an_agent_that_does_not_ask_the_gate_is_not_live(run, plays, why):
    problem = "- copilot has no gate: run hookbus gate install copilot"
    assert run("try", "copilot", plays=plays) == (1, f"not live: {why}\n{problem}")


def test_an_agent_that_cannot_be_run_is_not_live(run):
    problem = "- gemini has no gate: run hookbus gate install gemini"
    assert run("try", "gemini") == (1, f"not live: gemini is not on the PATH\n{problem}")
    code, out = run("try", "cursor")
    assert code == 1 and "hookbus has no scripted model for cursor" in out
    assert run("try", "copilt")[0] == 2


def test_an_agent_that_does_not_end_is_ended(run, monkeypatch):
    monkeypatch.setattr("hookbus.gate._trying.SECONDS", 1.0)
    monkeypatch.setitem(PLAYS, "hangs", "import time; time.sleep(60)")
    code, out = run("try", "copilot", plays="hangs")
    problem = "- copilot has no gate: run hookbus gate install copilot"
    assert code == 1
    assert out.endswith(f"copilot called no tool: it did not end in 1 seconds\n{problem}")
