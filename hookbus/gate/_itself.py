"""The guard `gate_itself`: protects the files and commands of the gate from the agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .. import Block, HookContext
from . import _commands as commands
from . import _hook as hook
from ._agent_files import FILES, FILES_OF_PROJECTS, FOLDERS, find_settings, folded
from ._agents import AGENTS, Tool
from ._codex import UnreadablePatch, find_patch, paths_in, paths_named
from ._events import CURRENT
from ._names import (
    OWN_PROCESS,
    home,
    is_contents,
    normal,
    paths_of,
    readings_of,
    real,
    texts_in,
    words_of,
)

_PACKAGE: Final = Path(__file__).parent.parent
_COMMANDS: Final = {"command", "cmd", "script", "code", "arg", "argv"}
"""Words by which arguments that contain commands are recognized, for MCP tools and tools without a
group."""

_PATHS: Final = {
    "path", "file", "folder", "dir", "directory", "uri", "url", "src", "dst", "dest", "source",
    "destination", "target", "location", "filename", "name", "from", "to", "cwd",
}  # fmt: skip
"""Words at the end of the names of arguments that contain paths, and never the contents of a
file."""

_CHANGES: Final = {"write", "edit", "move", "rename", "delete", "remove", "replace", "mv", "rm"}
"""Words in the names of tools that may remove or move a whole folder."""

_FOLDERS: Final = {"cwd", "dir", "directory", "folder", "root", "base", "workdir"}
"""Words at the end of the names of arguments that contain the folder of a command."""

_MOST_FOLDERS: Final = 16
_MOST_FOLLOWED: Final = 2_000
"""The maximum number of names in other folders whose links are followed, so that a long command
takes no longer than the deadline.
"""


class _Where:
    """The folders of one call.

    Args:
        base: the folder from which relative paths are resolved.
        protected: the gate's own files and folders.

    Attributes:
        settings: the prefixes of the paths of the agents' settings.
        more: other folders that the call names, from which its names may be resolved, too.
    """

    def __init__(self, base: str, protected: Iterable[str]) -> None:
        event = CURRENT.get()
        variables: Mapping[str, str] = {} if event is None else event.variables
        projects = (variables.get(each.folder or "") for each in AGENTS.values())
        known = [each for each in projects if each and os.path.isabs(each)]
        self.base, self.more = base, set[str]()
        self.settings = find_settings(home(), base, known, variables)
        self._protected = (*protected, *self.settings)
        self._paths: dict[str, set[str]] = {}
        self._followed = 0

    @cached_property
    def _parents(self) -> set[str]:
        """The folders that directly contain protected files."""
        return {each.rpartition("/")[0] for each in self._protected}

    @cached_property
    def _above(self) -> set[str]:
        """All folders that contain protected files, at any depth."""
        found = {*self._parents}
        for each in self._parents:
            while each and (each := each.rpartition("/")[0]) not in found:
                found.add(each)
        return found

    def holds(self, path: str) -> bool:
        """Return whether a path is a folder that contains protected files, at any depth."""
        return path.rstrip("/") in self._above or f"{path.rstrip('/')}/".endswith(FOLDERS)

    def holds_directly(self, path: str) -> bool:
        """Return whether a path is a folder with protected files directly in it."""
        return path.rstrip("/") in self._parents or f"{path.rstrip('/')}/".endswith(FOLDERS)

    def paths(self, text: str) -> set[str]:
        """Return the paths that a string may name, without the other folders of the call."""
        if text not in self._paths:
            self._paths[text] = paths_of(text, self.base)
        return self._paths[text]

    def enter(self, text: str) -> None:
        """Resolve further names from a folder, too."""
        found = {each for each in self.paths(text) if not OWN_PROCESS.match(each)}
        found |= {folded(normal(os.path.join(each, text))) for each in self.more}
        if len(self.more) + len(found) <= _MOST_FOLDERS:
            self.more |= found

    def paths_elsewhere(self, text: str, *, as_copy: bool) -> set[str]:
        """Return the paths that a name has in the other folders of the call.

        Args:
            text: the name.
            as_copy: whether a copy of the file, with the same name, is meant, too.
        """
        names = readings_of(text) if self.more else set()
        if as_copy:
            names |= {os.path.basename(each.rstrip("/")) for each in names}
        if self._followed > _MOST_FOLLOWED:
            names = {each for each in names if self._hint.search(folded(each))}
        found = {folded(normal(os.path.join(folder, each)))
                 for folder in self.more for each in names if each}  # fmt: skip
        self._followed += len(found)
        return found | ({*map(real, found)} if self._followed <= _MOST_FOLLOWED else set())

    @cached_property
    def _hint(self) -> re.Pattern[str]:
        """Matches names with a part that occurs in the path of a protected file."""
        files = (*self._protected, *FILES, *FILES_OF_PROJECTS)
        parts = {part for each in files for part in folded(each).split("/") if part}
        return re.compile(rf"(?:^|/)(?:{'|'.join(map(re.escape, sorted(parts)))})")


class GateItself:
    """The gate's own files, which the gate protects from agents.

    Args:
        files: the settings, the rules and a journal without values, which agents may read.
        folders: the folders of plugins, which agents may read, too.
        secrets: the store of approvals, the people file and a journal with values, which agents
            must not read.
    """

    def __init__(
        self, files: Iterable[str | Path], folders: Iterable[str | Path], secrets: Iterable[Path]
    ) -> None:
        self._files = {real(each) for each in files}
        self._folders = {real(each) for each in (*folders, hook.folder(), _PACKAGE)}
        self._secrets = tuple(map(real, secrets))
        named = [*files, *folders, *secrets, hook.folder()]
        forms = (form(each) for each in named for form in (os.path.abspath, os.path.realpath))
        self._texts = sorted({folded(text) for text in (*forms, *FILES)})

    def judge(self, tool: Tool, ctx: HookContext) -> Block | None:
        """Return a `Block` for a call that names a protected file or command, or None."""
        arguments, base = ctx.kwargs["arguments"], ctx.baggage.get("cwd")
        if not isinstance(base, str) or not os.path.isabs(base):
            return Block("the event has no absolute cwd, so its paths are not known", code="gate")
        where = _Where(base, (*self._files, *self._folders, *self._secrets))
        try:
            patch = find_patch(tool, arguments)
            if patch is not None:
                arguments = {"paths": paths_in(patch)}
        except UnreadablePatch as error:
            return Block(str(error), code="gate")
        texts = [*texts_in(arguments)]
        run = {} if patch is not None else _commands_in(tool, arguments)
        if patch is None:
            _enter_folders(texts, run, where)
        return self._in_texts(tool, texts, where) or self._in_commands(tool, run, where)

    def _in_texts(
        self, tool: Tool, texts: Iterable[tuple[str, str]], where: _Where
    ) -> Block | None:
        may_read = tool.group in ("read", "search")
        for name, text in texts:
            is_path = _is_path(name)
            may_be_path = is_path or not is_contents(text)
            if may_be_path and self._is_path_of_gate(text, where, may_read=may_read):
                return _block(f"{name} names a file of the gate")
            if is_path and _may_take_folder(tool) and self._is_above(text, where):
                return _block(f"{name} names a folder with files of the gate")
        return None

    def _in_commands(self, tool: Tool, run: Mapping[str, str], where: _Where) -> Block | None:
        for name, text in run.items():
            why = self._in_command(tool, text, where)
            if why is not None:
                return _block(f"{name} {why}")
        return None

    def _is_path_of_gate(self, text: str, where: _Where, *, may_read: bool) -> bool:
        return any(
            self._is_protected(each, where, may_read=may_read)
            for each in (*where.paths(text), *where.paths_elsewhere(text, as_copy=True))
        )

    def _is_protected(self, path: str, where: _Where, *, may_read: bool) -> bool:
        leads_anywhere = OWN_PROCESS.match(path) is not None
        if path.startswith(self._secrets):  # with its -wal and -shm
            return True
        if may_read:
            return leads_anywhere and bool(self._secrets)
        is_below = any(path == each or path.startswith(each + "/") for each in self._folders)
        is_own = path in self._files or any(
            path.startswith(f"{each}-")
            for each in self._files  # such as the journal's spools
        )
        is_of_agent = any(f"/{each}" in path for each in (*FILES, *FILES_OF_PROJECTS))
        is_of_agent = is_of_agent or f"{path}/".startswith(where.settings)
        return is_below or is_own or is_of_agent or leads_anywhere

    def _is_above(self, text: str, where: _Where) -> bool:
        """Return whether a path names a folder that contains protected files."""
        found = (*where.paths(text), *where.paths_elsewhere(text, as_copy=False))
        return any(map(where.holds, found))

    def _in_command(self, tool: Tool, text: str, where: _Where) -> str | None:
        forms = {text, commands.unquoted(text)}
        plain = "\n".join(map(folded, forms))
        names = commands.words_in(text) | {*paths_named(text)}
        if any(each in plain for each in self._texts) or any(
            self._is_path_of_gate(each, where, may_read=False) for each in names
        ):
            return "names a file of the gate"
        if any(self._is_above(each, where) for each in commands.removed_by(text)):
            return "removes or moves a folder that contains files of the gate"
        if any(_is_copied_over(each, source, where) for each, source in commands.copied_by(text)):
            return "copies a folder over files of the gate"
        if any(map(commands.is_answer, forms)):
            return "runs a command of the gate, or answers a request for approval"
        if tool.agent == "codex" and commands.opens_terminal(plain):
            return "opens the terminal, where Codex calls no hook"
        return None


def _enter_folders(texts: Iterable[tuple[str, str]], run: Mapping[str, str], where: _Where) -> None:
    """Add the folders that a call names, from which its other names may be resolved."""
    for name, text in texts:
        is_folder = bool(run) and not _FOLDERS.isdisjoint(words_of(name)[-1:])
        if not is_contents(text) and (is_folder or any(map(where.holds, where.paths(text)))):
            where.enter(text)
    for text in run.values():
        for each in commands.folders_entered(text):
            where.enter(each)
        for each in commands.words_of_changes(text):
            if any(map(where.holds, where.paths(each))):
                where.enter(each)


def _is_copied_over(target: str, source: str, where: _Where) -> bool:
    """Return whether a copy of a folder could replace protected files."""
    found = where.paths(target) | where.paths_elsewhere(target, as_copy=False)
    if commands.is_whole_folder(source) and any(map(where.holds_directly, found)):
        return True
    name = os.path.basename(source.rstrip("/"))
    copies = {folded(normal(f"{each}/{name}")) for each in found}
    return name not in ("", ".", "..") and any(map(where.holds, copies))


def _block(why: str) -> Block:
    return Block(f"{why}, which an agent must not change", code="gate")


def _is_path(name: str) -> bool:
    return not _PATHS.isdisjoint(words_of(name)[-1:])


def _commands_in(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the commands in arguments by name, and all of them as one command, because a program
    and its arguments may be separate.
    """
    found = dict[str, str]()
    for name, text in texts_in(arguments):
        if _is_command(tool, name):
            found[name] = f"{found[name]}\n{text}" if name in found else text
    in_words = [commands.text_of(value) for name, value in _values_in(arguments)
                if _is_command(tool, name)]  # fmt: skip
    whole = " ".join(each for each in in_words if each)
    return found | ({"its command": whole} if whole and whole not in found.values() else {})


def _values_in(value: Mapping[str, Any], name: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the values of arguments with their names. A list is one value."""
    for key, inner in value.items():
        place = f"{name}.{key}" if name else str(key)
        if isinstance(inner, Mapping):
            yield from _values_in(inner, place)
        else:
            yield place, inner


def _is_command(tool: Tool, name: str) -> bool:
    if tool.group == "shell":
        return True
    return tool.group in ("mcp", None) and not _COMMANDS.isdisjoint(words_of(name))


def _may_take_folder(tool: Tool) -> bool:
    if tool.group in ("mcp", None):
        return not _CHANGES.isdisjoint(words_of(tool.name))
    return tool.group in ("write", "edit")
