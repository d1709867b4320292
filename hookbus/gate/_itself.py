"""The guard `gate_itself`: protects the files and commands of the gate from the agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import attrs

from .. import Block, HookContext
from . import _hook as hook
from ._agent_files import FILES, FILES_OF_PROJECTS, FOLDERS, find_settings, folded
from ._agents import AGENTS, Tool
from ._codex import UnreadablePatch, find_patch, paths_in
from ._events import CURRENT

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

_ANSWERS: Final = re.compile(
    r"(?i)\bhookbus\b.*\b(?:gate|approvals)\b"
    r"|\bhookbus(?:[./](?:cli|__main__)(?:\.py)?)?['\")}]*"
    r"(?:(?:[ \t]|\\\n)+['\"]?-\S*)*(?:[ \t]|\\\n)+['\"]?(?:serve|run)\b",
    re.DOTALL,
)
"""The commands that can end the gate or answer a request for approval. `serve` can, because it
serves the page."""

_FILE_URI: Final = re.compile(r"(?i)file:(?://(?:localhost)?(?=/))?")
_STREAM: Final = re.compile(r"/dev/(?:std(?:in|out|err)|fd/\d+)")
"""The paths of a program's own standard streams. In this process, they would lead to the server's
streams.
"""

_OWN_PROCESS: Final = re.compile(
    r"/proc/(?:self|thread-self|[\d$*?\[{][^/]*)(?:$|/(?:task|cwd|root|fd|mem|map_files)(?:/|$))"
    r"|/dev/fd(?:$|/(?!\d+$))"
)
"""Paths that lead to a different file in each program."""

_TERMINAL: Final = re.compile(
    r"<&\s*(?!-|\s|0(?!\d))|(?<!\d)0+>&\s*[^-\s]|/dev/(?:std(?:out|err)|fd|pts|tty)"
    r"|/proc/[^/\s]*/fd"
)
_TO_STREAM: Final = re.compile(
    r"(?:(?<![<0>])>{1,2}\|?|\btee(?:[ \t]+-a)?)[ \t]*/dev/std(?:out|err)(?![^\s;&|)'\"`])"
)
"""Matches writing to a stream, which does not give a command access to a terminal."""

_WORD: Final = re.compile(r"""(?s)(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|<>()`'"\\]|['"])+""")
"""Matches a word of a command, with quotes and backslashes as in a shell."""

_QUOTED: Final = re.compile(r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_QUOTE: Final = re.compile(r"""['"\\]""")

_LONGEST_PATH: Final = 4096


@attrs.frozen
class _Where:
    """The folders of one call.

    Attributes:
        base: the folder from which relative paths are resolved.
        settings: the prefixes of the paths of the agents' settings.
    """

    base: str
    settings: tuple[str, ...]

    @classmethod
    def of(cls, base: str) -> _Where:
        event = CURRENT.get()
        variables = {} if event is None else event.variables
        projects = (variables.get(each.folder or "") for each in AGENTS.values())
        known = [each for each in projects if each and os.path.isabs(each)]
        return cls(base, find_settings(_home(), base, known, variables))


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
        self._files = {_real(each) for each in files}
        self._folders = {_real(each) for each in (*folders, hook.folder(), _PACKAGE)}
        self._secrets = tuple(map(_real, secrets))
        named = [*files, *folders, *secrets, hook.folder()]
        forms = (form(each) for each in named for form in (os.path.abspath, os.path.realpath))
        self._texts = sorted({folded(text) for text in (*forms, *FILES)})

    def judge(self, tool: Tool, ctx: HookContext) -> Block | None:
        """Return a `Block` for a call that names a protected file or command, or None."""
        arguments, base = ctx.kwargs["arguments"], ctx.baggage.get("cwd")
        if not isinstance(base, str) or not os.path.isabs(base):
            return Block("the event has no absolute cwd, so its paths are not known", code="gate")
        where = _Where.of(base)
        try:
            patch = find_patch(tool, arguments)
            if patch is not None:
                arguments = {"paths": paths_in(patch)}
        except UnreadablePatch as error:
            return Block(str(error), code="gate")
        may_read = tool.group in ("read", "search")
        for name, text in _texts(arguments):
            is_path = not _PATHS.isdisjoint(_words_of(name)[-1:])
            may_be_path = is_path or not _is_contents(text)
            if may_be_path and self._is_path_of_gate(text, where, may_read=may_read):
                return _block(f"{name} names a file of the gate")
            if is_path and _may_take_folder(tool) and self._is_above(text, where):
                return _block(f"{name} names a folder with files of the gate")
            if patch is None and _is_command(tool, name):
                why = self._in_command(tool, text, where)
                if why is not None:
                    return _block(f"{name} {why}")
        return None

    def _is_path_of_gate(self, text: str, where: _Where, *, may_read: bool) -> bool:
        return any(
            self._is_protected(each, where, may_read=may_read) for each in _paths(text, where.base)
        )

    def _is_protected(self, path: str, where: _Where, *, may_read: bool) -> bool:
        leads_anywhere = _OWN_PROCESS.match(path) is not None
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
        protected = [*self._files, *self._folders, *self._secrets, *where.settings]
        above = [each.rstrip("/") + "/" for each in _paths(text, where.base)]
        return any(path.startswith(each) for path in protected for each in above) or any(
            each.endswith(FOLDERS) for each in above
        )

    def _in_command(self, tool: Tool, text: str, where: _Where) -> str | None:
        forms = {text, _unquoted(text)}
        plain = "\n".join(map(folded, forms))
        if any(each in plain for each in self._texts) or any(
            self._is_path_of_gate(each, where, may_read=False) for each in _words(text)
        ):
            return "names a file of the gate"
        if any(self._is_above(each, where) for each in _removed(text)):
            return "removes or moves a folder that contains files of the gate"
        if any(map(_ANSWERS.search, forms)):
            return "runs a command of the gate, or answers a request for approval"
        if tool.agent == "codex" and _TERMINAL.search(_TO_STREAM.sub(" ", plain)):
            return "opens the terminal, where Codex calls no hook"
        return None


def _home() -> str:
    """Return the home folder of the user of the agent whose event is being answered."""
    event = CURRENT.get()
    own = "" if event is None else event.variables.get("HOME", "")
    return own if os.path.isabs(own) else os.path.expanduser("~")


def _block(why: str) -> Block:
    return Block(f"{why}, which an agent must not change", code="gate")


def _is_command(tool: Tool, name: str) -> bool:
    if tool.group == "shell":
        return True
    return tool.group in ("mcp", None) and not _COMMANDS.isdisjoint(_words_of(name))


def _may_take_folder(tool: Tool) -> bool:
    if tool.group in ("mcp", None):
        return not _CHANGES.isdisjoint(_words_of(tool.name))
    return tool.group in ("write", "edit")


def _words_of(name: str) -> list[str]:
    """Return the words in an argument's name, without a plural `s`. For example, `bashCommands` has
    the words `bash` and `command`."""
    last = name.rpartition(".")[2].partition("[")[0]
    parts = re.split(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])", last)
    return [each.casefold().removesuffix("s") for each in parts if each]


def _is_contents(text: str) -> bool:
    """Return whether a string is too long for a path or has several lines, so that it must be
    contents."""
    return len(text) > _LONGEST_PATH or "\n" in text


def _paths(text: str, base: str) -> set[str]:
    """Return the paths that programs may resolve a string to. Some programs remove `x/..` before
    they follow links, and others after.
    """
    found = set[str]()
    for each in _readings(text):
        whole = os.path.join(base, each)
        plain = "/" + os.path.normpath(whole).lstrip("/")
        written = re.sub(r"/(?:\.?/)*", "/", whole)
        found |= {folded(plain)} | ({written} if _OWN_PROCESS.match(written) else set())
        if _STREAM.fullmatch(plain) and ".." not in whole:
            continue
        for path in {plain, whole}:
            if len(path) <= _LONGEST_PATH and "\0" not in path:
                found.add(_real(path))
    return found


def _readings(text: str) -> set[str]:
    """Return the paths for a string with a leading `~` or `file:`."""
    if not text:
        return set()
    address = _FILE_URI.match(text)
    if address is not None:
        rest = text[address.end() :]
        return {text, rest, unquote(rest), unquote(re.split("[?#]", rest)[0])} - {""}
    return {_home() + text[1:] if text[:2] in ("~", "~/") else os.path.expanduser(text)}


def _removed(text: str) -> list[str]:
    """Return the words of a command that name files which `rm` or `mv` would remove."""
    found = list[str]()
    for part in re.split(r"[;&|\n()`]+", _with_home(text)):
        words = [_unquoted(each) for each in _WORD.findall(part)]
        for place, word in enumerate(words):
            name, rest = os.path.basename(word), words[place + 1 :]
            if name in ("rm", "rmdir"):
                found += [each.removesuffix("/*") for each in rest]
            elif name == "mv":
                found += rest if any(each.startswith(("-t", "--t")) for each in rest) else rest[:-1]
    return found


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in arguments, including keys of mappings, with its location."""
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
    """Return the words in a command that may be paths, without quotes. Parts of words are included,
    such as the value of an option or a quoted command.
    """
    plain = _with_home(text)
    whole = {_unquoted(each) for each in _WORD.findall(plain)}
    found = {part for each in whole for part in re.split(r"[=,:@{}]+", each)} | whole
    found |= {*re.split(r"[\s;&|<>=()`'\"]+", plain)}
    found |= {each[2:] for each in found if each.startswith("-")}
    for each in _QUOTED.findall(plain):
        if _QUOTE.search(each, 1, len(each) - 1):
            found |= _words(re.sub(r'\\(["\\])', r"\1", each[1:-1]))
    return found - {""}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)|['\"]", r"\1", text)


def _with_home(text: str) -> str:
    return text.replace("${HOME}", _home()).replace("$HOME", _home())


def _real(path: str | Path) -> str:
    return folded(os.path.realpath(path))
