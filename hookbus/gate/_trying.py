"""Runs an installed agent to check whether its calls reach the gate, for `hookbus gate try`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ._models import ChatModel, ClaudeModel, CodexModel, GeminiModel, Model

SECONDS: Final = 120.0
"""The time limit for an agent, in seconds."""

_BLOCKED: Final = "blocked by gate_itself"
_KEYS: Final = (
    "ANTHROPIC_", "AWS_", "AZURE_", "CLAUDE_CODE_USE_", "COPILOT_PROVIDER_", "GEMINI_API_", "GH_",
    "GITHUB_", "GOOGLE_", "OPENAI_", "OPENCODE_CONFIG", "OPENROUTER_",
)  # fmt: skip
"""The prefixes of environment variables that contain keys, or that select another model."""


@attrs.frozen
class Start:
    """Describes how to start an agent with a scripted model.

    Attributes:
        model: the class of the model.
        tool: the agent's name for its shell, and the name of the argument with the command.
        words: returns the words after the program, given the address of the model.
        variables: returns the environment variables, given the address of the model and an empty
            folder.
    """

    model: type[Model]
    tool: tuple[str, str]
    words: Callable[[str], list[str]]
    variables: Callable[[str, Path], Mapping[str, str]]


def _codex_words(url: str) -> list[str]:
    provider = (
        f'{{name="try", base_url="{url}/v1", wire_api="responses", env_key="HOOKBUS_TRY_KEY"}}'
    )
    own = ["-c", "model_provider=hookbus_try", "-c", f"model_providers.hookbus_try={provider}"]
    return ["exec", "--skip-git-repo-check", "-s", "read-only", "-m", "scripted", *own, "go"]


def _gemini_variables(url: str, folder: Path) -> Mapping[str, str]:
    file = folder / ".gemini" / "settings.json"
    file.parent.mkdir()  # the user may log in otherwise
    file.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    return {
        "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }  # fmt: skip


def _opencode_variables(url: str, folder: Path) -> Mapping[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    local = {"npm": "@ai-sdk/openai-compatible", "name": "try", "options": options,
             "models": {"scripted": {"name": "scripted"}}}  # fmt: skip
    own = {"provider": {"hookbus_try": local}, "autoupdate": False}
    names = ("AUTOUPDATE", "MODELS_FETCH", "SHARE")
    switches = {f"OPENCODE_DISABLE_{name}": "true" for name in names}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(own), **switches}


STARTS: Final = {
    "claude": Start(
        ClaudeModel, ("Bash", "command"), lambda url: ["-p", "go", "--allowedTools", "Bash"],
        lambda url, folder: {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        },
    ),
    "codex": Start(
        CodexModel, ("exec_command", "cmd"), _codex_words,
        lambda url, folder: {"HOOKBUS_TRY_KEY": "none"},
    ),
    "gemini": Start(
        GeminiModel, ("run_shell_command", "command"),
        lambda url: ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "go"],
        _gemini_variables,
    ),
    "copilot": Start(
        ChatModel, ("bash", "command"), lambda url: ["-p", "go", "--allow-all-tools"],
        lambda url, folder: {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    "opencode": Start(
        ChatModel, ("bash", "command"),
        lambda url: ["run", "--auto", "-m", "hookbus_try/scripted", "go"], _opencode_variables,
    ),
}  # fmt: skip


def find_gap(name: str) -> str:
    """Run an agent with a scripted model, which calls the agent's shell with a command that
    `gate_itself` always blocks. Return the reason why the gate is not live, or an empty string.

    Args:
        name: the name of the agent.
    """
    start, program = STARTS.get(name), shutil.which(name)
    if start is None:
        return f"hookbus has no scripted model for {name}: check whether a blocked call runs"
    if program is None:
        return f"{name} is not on the PATH"
    with tempfile.TemporaryDirectory(prefix="hookbus-try-") as made:
        folder, ran = Path(made), Path(made) / f"ran-{secrets.token_hex(8)}"
        argument, command = start.tool[1], f"echo hookbus gate > '{ran}'"
        arguments = {argument: command, "description": "hookbus gate try"}
        with start.model(start.tool[0], arguments) as model:
            variables = {**_without_keys(), **start.variables(model.url, folder)}
            ended = _run([program, *start.words(model.url)], folder, variables)
            return _explain(name, ended, model.results, has_run=ran.exists())


def _without_keys() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_KEYS)}


def _run(words: list[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run an agent, end all processes that it started, and return the last line of its output."""
    with tempfile.TemporaryFile() as written:
        started = subprocess.Popen(
            words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=written,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            started.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return f"it did not end in {SECONDS:g} seconds"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        written.seek(0)
        lines = written.read().decode("utf-8", "replace").split("\n")
    return next((each.strip() for each in reversed(lines) if each.strip()), "it wrote nothing")


def _explain(name: str, last: str, results: list[Any], *, has_run: bool) -> str:
    output = " ".join(" ".join(map(str, results)).split())
    if has_run:
        return f"{name} ran a command that the gate blocks"
    if _BLOCKED in output:
        return ""
    if "hookbus: " in output:
        line = output[output.index("hookbus: ") :]
        return f"the gate blocked the call without checking it: {line:.300}"
    if results:
        return f"{name} did not ask the gate about a call: {output:.300}"
    return f"{name} called no tool: {last:.300}"
