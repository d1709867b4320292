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

ARGUMENTS: Final = ("*path*", "*file*", "*folder*", "*dir*", "cwd", "src", "dst")
_SPECIAL: Final = "/\\.~$%:"
_SLASHES: Final = frozenset("\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9\u2572")
"""What looks like a slash and is no compatibility form of one."""

_FORM: Final = re.compile(
    r"(?:~|\.{1,2})?[/\\]\S|[A-Za-z]:[/\\]|file:|(?:[\w.-]+/)+[\w-]+\.\w{1,8}\Z"
)
"""What a value looks like that is probably a path."""

_ODD: Final = {
    "is an address or names a drive": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//"),
    "has a backslash": re.compile(r".*\\", re.DOTALL),
    "has a percent code": re.compile(r".*%(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|\w+%)", re.DOTALL),
    "begins with ~": re.compile("~"),
    "has a $": re.compile(r".*\$", re.DOTALL),
}


class inside(Plugged):
    """A guard that lets paths in arguments be in these folders only, wherever links lead.

    A relative path is read as `open` does, from the working directory of the call. What two readers
    could take for different paths is outside: addresses, percent codes, `~`, `$`, backslashes,
    look-alikes of slashes and dots, control characters.

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
        for text in {value, os.path.normpath(value)}:  # some tools cut `x/..` before links are read
            try:
                os.path.realpath(text, strict=True)
            except (FileNotFoundError, NotADirectoryError):
                pass  # what is not there yet is where its parent is
            except (OSError, ValueError):
                return "cannot be followed"
            whole = os.path.realpath(text)
            if not any(whole == each or whole.startswith(each + os.sep) for each in self._folders):
                return "is outside the folders that are allowed"
        return None


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
    return next((why for why, found in _ODD.items() if found.match(text)), None)


def _folder(given: Any) -> str:
    if not isinstance(given, (str, os.PathLike)) or not os.path.isdir(given):
        raise HookError(f"inside({given!r:.60}): there is no such folder")
    return os.path.realpath(given, strict=True).rstrip(os.sep)
