"""The real agents under the gate, on scripted models, each in a home of its own.

HOOKBUS_AGENTS=FOLDER runs them; `npm install --prefix FOLDER` put there any of
`@anthropic-ai/claude-code`, `@openai/codex`, `@google/gemini-cli`, `@github/copilot` and
`opencode-ai`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookbus import cli
from hookbus.gate._models import ChatModel, ClaudeModel, CodexModel, GeminiModel
from hookbus.journal import Journal

PLACE = os.environ.get("HOOKBUS_AGENTS", "")
PROGRAMS = {name: Path(PLACE).resolve() / "node_modules" / ".bin" / name
            for name in ("claude", "codex", "gemini", "copilot", "opencode")}  # fmt: skip
THERE = [name for name, path in PROGRAMS.items() if PLACE and path.exists()]

pytestmark = pytest.mark.skipif(not THERE, reason="HOOKBUS_AGENTS names no agents")

PLUGIN = """\
from hookbus import Block, Replace


def guard(tool, arguments):
    if "forbidden" in str(arguments):
        return Block("not this")
    if "broken" in str(arguments):
        raise ValueError("the text of the guard")


def changed(tool, arguments):
    if "OLD" in str(arguments):
        command = arguments["command"].replace("OLD", "NEW")
        return {"arguments": {**arguments, "command": command}}


def redacted(tool, result):
    return Replace("[redacted]") if "TOKEN" in str(result) else None


def polite(agent, input):
    return Block("be polite") if "rude" in input else None


def register(api):
    api.connect("pre_tool_call", changed, name="changed")
    api.connect("pre_tool_call", guard, role="guard", name="guard")
    api.connect("post_tool_call", redacted, name="redacted", on_error="block")
    api.connect("pre_agent_run", polite, role="guard", name="polite")
"""
FILES = {
    "claude": ".claude/settings.json", "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json", "copilot": ".copilot/hooks/hookbus.json",
    "opencode": ".config/opencode/plugins/hookbus.js",
}  # fmt: skip
HOOKS = '["pre_tool_call", "post_tool_call", "pre_agent_run"]'


class Real:
    """One agent with a gate.

    Attributes:
        results: what the model has read of the last call.
    """

    def __init__(self, name, gate, home):
        self.name, self.gate, self.home, self.results = name, gate, home, []
        self.project = home / "project"
        self.project.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KEY": "none"}
        gate.write('journal = "calls.journal"\n' + gate.plug(PLUGIN, HOOKS))
        own = {**self.environment, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
        words = [sys.executable, "-m", "hookbus", "gate", "install", name]
        getattr(self, f"prepare_{name}", lambda: None)()
        subprocess.run([*words, "--settings", str(gate.file)], env=own, check=True)

    def prepare_gemini(self):
        (self.home / ".gemini").mkdir()
        own = {"security": {"auth": {"selectedType": "gemini-api-key"},
                            "folderTrust": {"enabled": False}},
               "general": {"disableAutoUpdate": True}}  # fmt: skip
        (self.home / ".gemini" / "settings.json").write_text(json.dumps(own))

    def run(self, command, prompt="go"):
        """Have the model call a shell; return whether the agent gave its last answer."""
        return getattr(self, f"run_{self.name}")(command, prompt)

    def run_claude(self, command, prompt):
        with ClaudeModel("Bash", {"command": command}) as model:
            own = {
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                "ENABLE_TOOL_SEARCH": "false", "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            }  # fmt: skip
            out = self._started(["-p", prompt, "--allowedTools", "Bash"], own)
            self.results = model.results
        return out

    def run_codex(self, command, prompt):
        with CodexModel("exec_command", {"cmd": command}) as model:
            (self.home / ".codex" / "config.toml").write_text(
                'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\n'
                f'name = "local"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
                'env_key = "KEY"\n'
            )
            words = ["exec", "--skip-git-repo-check", "-s", "danger-full-access"]
            out = self._started([*words, "--dangerously-bypass-hook-trust", prompt], {})
            self.results = model.results
        return out

    def run_gemini(self, command, prompt):
        with GeminiModel("run_shell_command", {"command": command}) as model:
            own = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url}
            words = ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt]
            out = self._started(words, {**own, "GEMINI_CLI_NO_RELAUNCH": "true"})
            self.results = model.results
        return out

    def run_copilot(self, command, prompt):
        arguments = {"command": command, "description": "run", "mode": "sync"}
        with ChatModel("bash", arguments) as model:
            own = {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1", "COPILOT_MODEL": "scripted",
                   "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_OFFLINE": "true",
                   "COPILOT_AUTO_UPDATE": "false"}  # fmt: skip
            out = self._started(["-p", prompt, "--allow-all-tools", "--allow-all-paths"], own)
            self.results = model.results
        return out

    def prepare_opencode(self):
        """Say that what OpenCode installs for plugins is there: the gate's needs nothing."""
        folder, name = self.home / ".config" / "opencode", "@opencode-ai/plugin"
        (folder / "node_modules").mkdir(parents=True)
        own = {"dependencies": {name: "*"}}
        (folder / "package.json").write_text(json.dumps(own))
        (folder / "package-lock.json").write_text(json.dumps({"packages": {"": own}}))

    def run_opencode(self, command, prompt):
        with ChatModel("bash", {"command": command, "description": "run"}) as model:
            options = {"baseURL": f"{model.url}/v1", "apiKey": "none"}
            local = {"npm": "@ai-sdk/openai-compatible", "name": "local", "options": options,
                     "models": {"scripted": {"name": "scripted"}}}  # fmt: skip
            own = {"provider": {"local": local}, "model": "local/scripted", "autoupdate": False}
            (self.home / ".config" / "opencode" / "opencode.json").write_text(json.dumps(own))
            names = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "SHARE")
            switches = {f"OPENCODE_DISABLE_{name}": "true" for name in names}
            out = self._started(["run", "--auto", prompt], switches)
            self.results = model.results
        return out

    def _started(self, words, own):
        ended = subprocess.run(
            [PROGRAMS[self.name], *words], env={**self.environment, **own}, cwd=self.project,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
        return "done" in ended.stdout

    def has_run(self, command):
        """Tell whether a command runs that leaves a file, and what the model reads of it."""
        file = self.project / "left"
        file.unlink(missing_ok=True)
        self.run(f"{command}; touch {file}")
        return file.exists(), str(self.results)


@pytest.fixture(scope="module", params=THERE or ["none"])
def real(request, module_gates, tmp_path_factory):
    return Real(request.param, module_gates(request.param), tmp_path_factory.mktemp("home"))


def test_a_call_that_is_let_through_runs(real):
    assert real.has_run("echo hello")[0] and "hello" in str(real.results)


def test_a_blocked_call_does_not_run_and_the_model_reads_why(real):
    has_run, told = real.has_run("echo forbidden")
    assert not has_run and "blocked by guard: not this" in told


def test_a_call_whose_guard_breaks_does_not_run(real):
    has_run, told = real.has_run("echo broken")
    assert not has_run and "the text of the guard" not in told


def test_changed_arguments_run(real):
    assert real.has_run("echo OLD")[0] and "NEW" in str(real.results)


def test_a_changed_result_is_the_one_that_the_model_reads(real):
    has_run, told = real.has_run("echo TOKEN")
    assert has_run and "[redacted]" in told and "TOKEN" not in told


def test_a_refused_prompt_reaches_no_model(real):
    if real.name == "copilot":  # it reads the prompt, and may call nothing
        real.run("echo hello", "a rude word")
        assert "the prompt was not let through" in str(real.results)
    else:
        assert not real.run("echo hello", "a rude word") and real.results == []


def test_the_gate_keeps_the_agent_from_its_settings(real):
    has_run, told = real.has_run(f"cat {real.gate.file}")
    assert not has_run and "blocked by gate_itself" in told


def test_both_events_are_one_call_in_the_journal(real):
    real.gate.stop()
    with Journal(real.gate.folder / "calls.journal") as journal:
        outcomes = [each.data["outcome"] for each in journal.records(type="hookbus.finished")
                    if each.data["hook"] == "tool_call"]  # fmt: skip
    # No call of a refused prompt of Copilot comes to the guards.
    assert outcomes.count("returned") == 3 and outcomes.count("blocked") == 3


def test_a_session_is_seen_to_begin_so_that_it_can_be_limited(real):
    text = real.gate.file.read_text()
    real.gate.write(text + "[gate]\nrate_limit = 1\n")
    assert real.has_run("echo hello")[0]
    real.gate.write(text)


def test_wrong_settings_and_a_hook_that_is_gone_close(real):
    text = real.gate.file.read_text()
    real.gate.write("[gate]\nrule = 1\n")
    assert not real.has_run("echo hello")[0]
    real.gate.write(text)
    assert real.has_run("echo hello")[0]
    file = real.home / FILES[real.name]
    file.write_text(file.read_text().replace(sys.executable, "/no/python"))
    assert not real.has_run("echo hello")[0]
