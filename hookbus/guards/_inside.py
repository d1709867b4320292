"""Paths in arguments stay inside folders."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from .. import Block, HookContext, HookError
from ._call import tool_of
from ._covered import Covered
from ._plugged import Hooks, Plugged
from ._windows import share_of, why_odd

_paths: Any = os.path
"""The rules of this system for paths, and what is on its disks."""

ARGUMENTS: Final = ("*path*", "*file*", "*folder*", "*dir*", "cwd", "src", "dst")
_SPECIAL: Final = "/\\.~$%:"
_SLASHES: Final = frozenset("\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9\u2572")
"""What looks like a slash and is no compatibility form of one."""

_FORM: Final = re.compile(
    r"(?:~|\.{1,2})?[/\\]\S|[A-Za-z]:[/\\]|file:|(?:[\w.-]+/)+[\w-]+\.\w{1,8}\Z"
)
"""What a value looks like that is probably a path."""

_ODD_ON_UNIX: Final = {
    "is an address or names a drive": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//"),
    "has a backslash": re.compile(r".*\\", re.DOTALL),
}
_ODD: Final = {
    "has a percent code": re.compile(r".*%(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|\w+%)", re.DOTALL),
    "begins with ~": re.compile("~"),
    "has a $": re.compile(r".*\$", re.DOTALL),
}


class inside(Plugged):
    """A guard that lets paths in arguments be in these folders only, wherever links lead.

    A relative path is read as `open` does, from the working directory of the call. What two readers
    could take for different paths is outside: addresses, percent codes, `~`, `$`, backslashes,
    look-alikes of slashes and dots, control characters. On Windows backslashes and whole paths with
    a drive or a share are paths like others, in any case of letters; outside are a drive or a slash
    alone in front, devices such as `NUL`, streams (`a.txt:b`), names that end with a dot.

    Args:
        folders: one or more that exist.
        arguments: globs over the names of arguments at any depth, whatever their case; what stands
            under a name that matches is judged: values, keys of mappings, items, and fields of
            objects. A call with an object that cannot be looked into is blocked.
        hook: the hook whose calls it judges, several, or a glob.

    Raises:
        HookError: if a folder is none, or none is named.
    """

    def __init__(
        self, *folders: str | os.PathLike[str], arguments: Iterable[str] = ARGUMENTS,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if not folders:
            raise HookError("inside() lets no path through: name a folder")
        self._folders = [_folder(each) for each in folders]
        # To look at any other share would send its server the name and the hash of this user.
        self._shares = {"", *map(share_of, self._folders)}
        covered = Covered(arguments, ARGUMENTS, _FORM)

        def judge(sender: Any, ctx: HookContext) -> Block | None:
            try:
                for path, value in covered.of(tool_of(ctx)[1]):
                    why = self._outside(value)
                    if why is not None:
                        return Block(f"{path} {why}", code="path")
            except HookError as error:
                return Block(str(error), code="path")
            return None

        judge.findings = covered.findings  # type: ignore[attr-defined]
        self.on("pre", judge, role="guard")

    def _outside(self, value: Any) -> str | None:
        """Say why a value is outside, or return None."""
        if isinstance(value, (bytes, os.PathLike)):
            value = os.fsdecode(value)
        if not isinstance(value, str):
            return f"is no path: {type(value).__name__}"
        why = odd(value)
        if why is not None:
            return why
        if _is_windows() and share_of(value) not in self._shares:
            return "is outside the folders that are allowed"
        for text in {value, _paths.normpath(value)}:  # some tools cut `x/..` before links are read
            try:
                _paths.realpath(text, strict=True)
            except (FileNotFoundError, NotADirectoryError):
                pass  # what is not there yet is where its parent is
            except (OSError, ValueError):
                return "cannot be followed"
            whole = _paths.realpath(text)
            if not any(_is_below(whole, each) for each in self._folders):
                return "is outside the folders that are allowed"
        return None


def _is_below(whole: str, folder: str) -> bool:
    """Tell whether a whole path is a folder or in it, however the folder's name is written."""
    if whole == folder or whole.startswith(folder + _paths.sep):
        return True
    head, rest = whole[: len(folder)], whole[len(folder) :]
    if head.lower() != folder.lower() or rest[:1] not in ("", _paths.sep):
        return False
    try:
        return bool(_paths.samefile(head, folder))  # where the case of letters makes no difference
    except OSError:
        return False


def odd(text: str) -> str | None:
    """Say what makes a path one that readers may take for different paths, or return None."""
    if not text or text != text.strip():
        return "is empty, or begins or ends with a blank"
    if len(text) > 4096:
        return "is too long for a path"
    for char in text:
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in _SLASHES:
            return "has a character that does not belong into a path"
    plain = unicodedata.normalize("NFKC", text)
    if any(plain.count(each) != text.count(each) for each in _SPECIAL):
        return "has a character that looks like a slash or a dot"
    looks = _ODD if _is_windows() else {**_ODD_ON_UNIX, **_ODD}
    why = next((why for why, found in looks.items() if found.match(text)), None)
    return why_odd(text) if _is_windows() and why is None else why


def _is_windows() -> bool:
    return bool(_paths.sep == "\\")


def _folder(given: Any) -> str:
    if not isinstance(given, (str, os.PathLike)) or not _paths.isdir(given):
        raise HookError(f"inside({given!r:.60}): there is no such folder")
    return str(_paths.realpath(given, strict=True)).rstrip(_paths.sep)
