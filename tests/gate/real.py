"""The real agents on scripted models, each in a home of its own.

HOOKBUS_AGENTS=FOLDER runs them; `npm install --prefix FOLDER` put there any of
`@anthropic-ai/claude-code`, `@openai/codex`, `@google/gemini-cli`, `@github/copilot` and
`opencode-ai`.
"""

import json
import os
import subprocess
from pathlib import Path

from hookbus.gate._models import ChatModel, ClaudeModel, CodexModel, GeminiModel

PLACE = os.environ.get("HOOKBUS_AGENTS", "")
PROGRAMS = {name: Path(PLACE).resolve() / "node_modules" / ".bin" / name
            for name in ("claude", "codex", "gemini", "copilot", "opencode")}  # fmt: skip
THERE = [name for name, path in PROGRAMS.items() if PLACE and path.exists()]
if PLACE and not THERE:
    raise RuntimeError(f"HOOKBUS_AGENTS={PLACE} has no agent: see the docstring of this module")

FILES = {
    "claude": ".claude/settings.json", "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json", "copilot": ".copilot/hooks/hookbus.json",
    "opencode": ".config/opencode/plugins/hookbus.js",
}  # fmt: skip


class Agent:
    """A real agent in a home of its own.

    Attributes:
        results: what the model has read of the last call.
        trusts_hooks: whether Codex runs hooks that no user has trusted in it.
        config: more lines for the `config.toml` of Codex.
    """

    def __init__(self, name, home):
        self.name, self.home, self.results = name, home, []
        self.trusts_hooks, self.config = True, ""
        self.project = home / "project"
        self.project.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KEY": "none"}
        getattr(self, f"prepare_{name}", lambda: None)()

    @property
    def file(self):
        """The settings file where its hooks are."""
        return self.home / FILES[self.name]

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

    def prepare_codex(self):
        (self.home / ".codex").mkdir()

    def run_codex(self, command, prompt):
        with CodexModel("exec_command", {"cmd": command}) as model:
            (self.home / ".codex" / "config.toml").write_text(
                'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\n'
                f'name = "local"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
                f'env_key = "KEY"\n{self.config}'
            )
            words = ["exec", "--skip-git-repo-check", "-s", "danger-full-access"]
            trust = ["--dangerously-bypass-hook-trust"] if self.trusts_hooks else []
            out = self._started([*words, *trust, prompt], {})
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

    def trust(self):
        """Trust the hooks of Codex, as its user does in `/hooks`."""
        asked = [
            {"id": 1, "method": "initialize",
             "params": {"clientInfo": {"name": "test", "title": "test", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [str(self.project)]}},
        ]  # fmt: skip
        with subprocess.Popen([PROGRAMS["codex"], "app-server"], env=self.environment, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd=self.project) as server:  # fmt: skip
            server.stdin.write("".join(json.dumps(each) + "\n" for each in asked))
            server.stdin.flush()
            answers = map(json.loads, server.stdout)
            listed = next(each["result"] for each in answers if each.get("id") == 2)
            server.kill()
        with (self.home / ".codex" / "config.toml").open("a") as config:
            for hook in listed["data"][0]["hooks"]:
                config.write(f"\n[hooks.state.{json.dumps(hook['key'])}]\n"
                             f"trusted_hash = {json.dumps(hook['currentHash'])}\n")  # fmt: skip

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
