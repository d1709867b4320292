"""Settings with which an agent runs no hook, as the real programs were seen to do, and files with
which `status` failed.
"""

import json

import pytest

from hookbus import cli
from hookbus.gate import _switches

from . import real

CLAUDE = {
    "SAFE_MODE": {"env": {"CLAUDE_CODE_SAFE_MODE": "1"}},
    "SIMPLE": {"env": {"CLAUDE_CODE_SIMPLE": "true"}},
    "CLAUDE_CONFIG_DIR": {"env": {"CLAUDE_CONFIG_DIR": "/nowhere"}},
    "env has": {"env": 7},
    "permissions has": {"permissions": 7},
    "model has": {"model": 7},
    "cleanupPeriodDays has": {"cleanupPeriodDays": 7.5},
    "disableAllHooks has": {"disableAllHooks": 0},
    "a matcher of Stop has": {"hooks": {"Stop": [{"matcher": 7, "hooks": []}]}},
    "the command of a hook of Stop has": {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}},
    "the timeout of 'true' has": {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": "1"}]}]},
    },
}  # fmt: skip
"""For each part of a problem, settings of the user beside the hooks of the gate."""

SOUND = {
    "env": {"CLAUDE_CODE_SIMPLE": "0", "OTHER": "1"}, "permissions": {}, "model": "opus",
    "disableAllHooks": False, "cleanupPeriodDays": 30,
    "hooks": {"Stop": [{"matcher": "", "hooks": [
        {"type": "command", "command": "true", "timeout": 1.5}, {"type": "prompt", "prompt": "x"},
    ]}]},
}  # fmt: skip

GEMINI = {
    "hooksConfig.enabled": [{"enabled": each} for each in (0, "", "false", False, [])],
    "names the gate": [{"disabled": each} for each in ("hookbus", ["hookbus"], {"hookbus": 1})],
    "": [{"enabled": None}, {"disabled": 5}, {"disabled": [7]}, {"disabled": None}, [], 7],
}


@pytest.fixture
def run(capsys, gate, tmp_path, monkeypatch):
    """`hookbus gate WORD AGENT` in a home of its own."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDE_CODE_SIMPLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_switches, "_MANAGED", tmp_path / "managed")

    def play(word, agent):
        code = cli.main(["gate", word, agent, *["--json"] * (word == "status"),
                         "--settings", str(gate.file)])  # fmt: skip
        out = capsys.readouterr().out
        return json.loads(out)[0]["problems"] if word == "status" else code

    return play


def installed(run, tmp_path, agent, settings):
    file = tmp_path / real.FILES[agent]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(settings))
    assert run("install", agent) == 0


def test_status_finds_what_makes_claude_code_run_no_hook(run, tmp_path, monkeypatch):
    for part, settings in CLAUDE.items():
        installed(run, tmp_path, "claude", settings)
        (problem,) = run("status", "claude")
        assert part in problem and str(tmp_path) in problem
    installed(run, tmp_path, "claude", SOUND)
    assert run("status", "claude") == []
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    (problem,) = run("status", "claude")
    assert "the environment variable CLAUDE_CODE_SIMPLE" in problem


@pytest.mark.parametrize(("settings", "is_off"), [
    ({"allowManagedHooksOnly": True}, True), ({"disableAllHooks": True}, True),
    ({"strictPluginOnlyCustomization": ["hooks"]}, True), ([], False),
    ({"allowManagedHooksOnly": False, "strictPluginOnlyCustomization": ["skills"]}, False),
])  # fmt: skip
def test_status_finds_managed_settings_that_switch_hooks_off(run, tmp_path, settings, is_off):
    installed(run, tmp_path, "claude", {})
    for name in ("managed-settings.json", "managed-settings.d/10-own.json"):
        file = tmp_path / "managed" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
        problems = run("status", "claude")
        assert len(problems) == is_off and all(str(file) in each for each in problems)
        file.unlink()


def test_status_reads_any_hooksconfig_of_gemini(run, tmp_path):
    for part, configs in GEMINI.items():
        for config in configs:
            installed(run, tmp_path, "gemini", {"hooksConfig": config})
            problems = run("status", "gemini")
            assert len(problems) == bool(part) and all(part in each for each in problems), config


@pytest.mark.skipif("claude" not in real.THERE, reason="HOOKBUS_AGENTS has no claude")
@pytest.mark.parametrize("part", [None, *CLAUDE])
def test_claude_code_runs_no_hook_with_these_settings(tmp_path, part):
    agent = real.Agent("claude", tmp_path / "home")
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]}
    own = CLAUDE[part] if part else SOUND
    agent.file.parent.mkdir()
    own = {**own, "hooks": {**own.get("hooks", {}), **hooks}}
    agent.file.write_text(json.dumps(own))
    is_tolerated = bool(part) and "hooks" in CLAUDE[part] and version() > (2, 1, 197)
    assert agent.has_run("echo hi")[0] == (part is not None and not is_tolerated)


def version():
    package = real.PROGRAMS["claude"].parent.parent / "@anthropic-ai" / "claude-code"
    text = json.loads((package / "package.json").read_text())["version"]
    return tuple(map(int, text.split(".")))
