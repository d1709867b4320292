"""The guard `gate_itself`: keeps an agent from the files and commands of its own gate."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from .. import Block, HookContext
from . import hook
from ._agents import Tool
from ._codex import UnreadablePatch, paths_in
from ._events import CURRENT

_PACKAGE: Final = Path(__file__).parent.parent
_COMMAND: Final = re.compile(r"(?i)(?:^|_)(?:command|cmd|script|code|arg|argv)s?(?:$|_)")
"""The names of arguments that are commands, in tools of MCP and in tools of no group."""

_ANSWERS: Final = re.compile(r"(?i)\bhookbus\b.*\b(?:gate|approvals)\b", re.DOTALL)
_FILES_OF_AGENTS: Final = (
    ".claude/settings", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json",
)  # fmt: skip
_NAMES: Final = {"CLAUDE_CONFIG_DIR": ("settings",), "CODEX_HOME": ("hooks.json", "config.toml")}
"""How the names of an agent's settings begin, in the folder that a variable names."""

_LONGEST_PATH: Final = 4096


class GateItself:
    """What the gate protects of itself.

    Args:
        files: the settings, the rules and the journal; agents may read them.
        folders: the folders of plugins; agents may read them, too.
        secret: the store of approvals, which no agent may read.
    """

    def __init__(
        self, files: Iterable[str | Path], folders: Iterable[str | Path], secret: Path | None
    ) -> None:
        self._files = {_real(each) for each in files}
        self._folders = {_real(each) for each in (*folders, hook.folder(), _PACKAGE)}
        self._secret = None if secret is None else _real(secret)
        named = [*files, *folders, *([] if secret is None else [secret]), hook.folder()]
        self._names = {_folded(os.path.basename(each)) for each in named}
        forms = (form(each) for each in named for form in (os.path.abspath, os.path.realpath))
        self._texts = sorted({_folded(text) for text in (*forms, *_FILES_OF_AGENTS)})

    def judge(self, tool: Tool, ctx: HookContext) -> Block | None:
        """Block a call that names what the gate protects."""
        arguments, base = ctx.kwargs["arguments"], ctx.baggage.get("cwd") or os.sep
        is_patch = tool.agent == "codex" and tool.name == "apply_patch"
        if is_patch:
            try:
                arguments = {"paths": paths_in(str(arguments.get("command", "")))}
            except UnreadablePatch as error:
                return Block(str(error), code="gate")
        for name, text in _texts(arguments):
            if self._is_path_of_gate(text, base, may_read=tool.group in ("read", "search")):
                return _block(f"{name} names a file of the gate")
            if not is_patch and _is_command(tool, name):
                why = self._in_command(tool, text, base)
                if why is not None:
                    return _block(f"{name} {why}")
        return None

    def _is_path_of_gate(self, text: str, base: str, *, may_read: bool) -> bool:
        if not text or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
            return False
        text = text.removeprefix("file://")
        text = _home() + text[1:] if text[:2] in ("~", "~/") else os.path.expanduser(text)
        path = _real(os.path.join(base, text))
        if self._secret is not None and path.startswith(self._secret):  # with its -wal and -shm
            return True
        if may_read:
            return False
        is_below = any(path == each or path.startswith(each + "/") for each in self._folders)
        return is_below or path in self._files or _is_file_of_agent(path)

    def _in_command(self, tool: Tool, text: str, base: str) -> str | None:
        folded = _folded(text)
        words = [each for each in _words(text) if "/" in each or _folded(each) in self._names]
        if any(each in folded for each in self._texts) or any(
            self._is_path_of_gate(each, base, may_read=False) for each in words
        ):
            return "names a file of the gate"
        if _ANSWERS.search(text):
            return "runs a command of the gate, or answers a request for approval"
        if tool.agent == "codex" and "/dev/tty" in folded:
            return "opens the terminal, which no hook of Codex sees"
        return None


def _home() -> str:
    """Return the home of the agent whose event is answered."""
    event = CURRENT.get()
    own = "" if event is None else event.variables.get("HOME", "")
    return own if os.path.isabs(own) else os.path.expanduser("~")


def _block(why: str) -> Block:
    return Block(f"{why}, which an agent must not change", code="gate")


def _is_command(tool: Tool, name: str) -> bool:
    if tool.group == "shell":
        return True
    last = name.rpartition(".")[2].partition("[")[0]
    return tool.group in ("mcp", None) and _COMMAND.search(last) is not None


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in arguments, with its place; the keys of mappings, too."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"a name in {name or 'the arguments'}", str(key)
            yield from _texts(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{name}[{place}]")


def _words(text: str) -> set[str]:
    """Return what may be a path in a command."""
    home = _home()
    words = re.split(r"[\s;&|<>=()`'\"]+", text.replace("${HOME}", home).replace("$HOME", home))
    return {each for each in words if each}


def _real(path: str | Path) -> str:
    return _folded(os.path.realpath(path))


def _folded(text: str) -> str:
    """Return a path or a command as file systems that ignore case compare it."""
    return text.casefold()


def _is_file_of_agent(path: str) -> bool:
    """Return whether a path is of a settings file of an agent: the user's or a project's."""
    if any(f"/{each}" in path for each in _FILES_OF_AGENTS):
        return True
    event, (folder, name) = CURRENT.get(), os.path.split(path)
    variables = {} if event is None else event.variables
    return any(
        folder == _real(variables[variable]) and name.startswith(names)
        for variable, names in _NAMES.items() if variables.get(variable)
    )  # fmt: skip
