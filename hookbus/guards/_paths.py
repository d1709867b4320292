"""Allows only paths inside given folders (path traversal protection)."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from .. import Block, HookContext, HookError
from ._call import contents_of
from ._covered import Covered
from ._ready import Hooks, ReadyGuard
from ._windows import share_of, why_odd

_paths: Any = os.path
"""The path functions of this operating system."""

ARGUMENTS: Final = ("*path*", "*file*", "*folder*", "*dir*", "cwd", "src", "dst")
STEPS: Final = 40
"""The maximum depth of a path whose folders are resolved one by one, so that each folder is
resolved only once per call."""

_SPECIAL: Final = "/\\.~$%:"
_SLASHES: Final = frozenset("\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9\u2572")
"""Characters that look like a slash, but are not normalized to one."""

_FORM: Final = re.compile(
    r"(?:~|\.{1,2})?[/\\]\S|[A-Za-z]:[/\\]|file:|(?:[\w.-]+/)+[\w-]+\.\w{1,8}\Z"
)
"""Matches a value that is probably a path."""

_USUAL: Final = re.compile(r"(?!//)[\w./+=,@#-](?:[\w./+=,@#() -]*[\w./+=,@#)-])?", re.ASCII)
"""Matches a path that all programs on Unix interpret in the same way."""

_ODD_ON_UNIX: Final = {
    "is an address or names a drive": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//"),
    "has a backslash": re.compile(r".*\\", re.DOTALL),
}
_ODD: Final = {
    "contains a percent-encoded character": re.compile(
        r".*%(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|\w+%)", re.DOTALL
    ),
    "begins with ~": re.compile("~"),
    "has a $": re.compile(r".*\$", re.DOTALL),
}


class paths_within(ReadyGuard):
    """A guard that allows only paths inside the given folders, after resolving links.

    A relative path is resolved from the working directory of the process, as `open` does. Inside
    `with baggage(cwd=...)`, it is resolved from that absolute folder. A path that programs
    could interpret differently counts as outside: for example URLs, and paths with
    percent-encoding, `~`, `$`, backslashes, control characters, or characters that look like
    slashes or dots. On Windows, backslashes and absolute paths with a drive or a share are allowed,
    and case is ignored. The following paths also count as outside on Windows: paths that begin with
    only a drive (`C:a.txt`) or only a slash, devices such as `NUL`, streams (`a.txt:b`), and names
    that end with a dot.

    Args:
        folders: one or more existing folders.
        arguments: globs of argument names at any depth, ignoring case. Everything under a matching
            name is checked: values, keys of mappings, items, and fields of objects. A call with an
            object that cannot be inspected is blocked.
        hook: the hook to check: a name, several names, or a glob.

    Raises:
        HookError: if a folder does not exist, or if no folder is given.
    """

    def __init__(
        self, *folders: str | os.PathLike[str], arguments: Iterable[str] = ARGUMENTS,
        hook: Hooks = "tool_call",
    ) -> None:  # fmt: skip
        super().__init__(hook)
        if not folders:
            raise HookError("paths_within() needs at least one folder")
        within = Within(folders, arguments)

        def judge(sender: Any, ctx: HookContext) -> Block | None:
            return within.block(contents_of(ctx), base_of(ctx))

        judge.findings = within.findings  # type: ignore[attr-defined]
        self.on("pre", judge, role="guard")


class Within:
    """Checks that the paths in the contents of a call are inside folders.

    Args:
        folders: the folders.
        arguments: globs over argument names, as in `paths_within`.

    Attributes:
        findings: returns the findings for `report`.

    Raises:
        HookError: if a folder does not exist.
    """

    def __init__(
        self, folders: Iterable[str | os.PathLike[str]], arguments: Iterable[str] = ARGUMENTS
    ) -> None:
        self._folders = [_folder(each) for each in folders]
        # Opening any other share would send this user's name and hash to its server.
        self._shares = {"", *map(share_of, self._folders)}
        self._covered = Covered(arguments, ARGUMENTS, _FORM)
        self.findings = self._covered.findings

    def block(self, contents: Any, base: str | None = None) -> Block | None:
        """Return a `Block` if a path in the contents is outside the folders, or None.

        Args:
            contents: the arguments of the call.
            base: the folder from which relative paths are resolved. None means the working
                directory of the process.
        """
        places, seen = _Places(self._folders, self._shares, base), set[str]()
        try:
            for path, value in self._covered.of(contents):
                if type(value) is str and value in seen:
                    continue
                why = places.outside(value)
                if why is not None:
                    return Block(f"{path} {why}", code="path")
                if type(value) is str:
                    seen.add(value)
        except HookError as error:
            return Block(str(error), code="path")
        return None


def base_of(ctx: HookContext) -> str | None:
    """Return the absolute folder in the baggage from which a call's relative paths are resolved."""
    found = ctx.baggage.get("cwd")
    return found if type(found) is str and _paths.isabs(found) else None


class _Places:
    """Resolves the paths of one call. Each folder is resolved only once.

    Args:
        folders: the allowed folders.
        shares: the Windows shares that may be opened.
        base: the folder of relative paths, or None for the working directory.
    """

    def __init__(self, folders: list[str], shares: set[str], base: str | None) -> None:
        self._folders, self._shares, self._base = folders, shares, base
        self._below = tuple(each + _paths.sep for each in folders)
        self._followed: dict[str, str | None] = {}

    def outside(self, value: Any) -> str | None:
        """Return the reason why a value is outside the folders, or None."""
        if type(value) is not str and isinstance(value, (bytes, os.PathLike)):
            value = os.fsdecode(value)
        if type(value) is not str:
            return f"is not a path: {type(value).__name__}"
        why = odd(value)
        if why is not None:
            return why
        if _is_windows() and share_of(value) not in self._shares:
            return "is outside the allowed folders"
        if self._base is not None and not _paths.isabs(value):
            value = _paths.join(self._base, value)
        # Some tools remove `x/..` before they resolve links.
        for text in {value, _paths.normpath(value)} if ".." in value else [value]:
            whole = self._leads_to(text)
            if whole is None:
                return "cannot be resolved"
            if not whole.startswith(self._below) and not any(
                _is_in(whole, each) for each in self._folders
            ):
                return "is outside the allowed folders"
        return None

    def _leads_to(self, text: str) -> str | None:
        """Return the resolved path, or None if it cannot be resolved."""
        folder, name = os.path.split(text)
        if name in ("", ".", "..") or text.count("/") > STEPS or _is_windows():
            return _followed(text)
        if folder not in self._followed:
            is_first = not folder or folder[-1] == "/"
            leads = _followed(folder or ".") if is_first else self._leads_to(folder)
            self._followed[folder] = leads
        if (parent := self._followed[folder]) is None:
            return None
        whole = os.path.join(parent, name)
        try:
            is_link = stat.S_ISLNK(os.lstat(whole).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return whole  # a path that does not exist yet is inside its parent
        except (OSError, ValueError):
            return None
        return _followed(text) if is_link else whole


def _followed(text: str) -> str | None:
    """Return a path with all links resolved, or None if it cannot be resolved."""
    try:
        return str(_paths.realpath(text, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        return str(_paths.realpath(text))
    except (OSError, ValueError):
        return None


def _is_in(whole: str, folder: str) -> bool:
    """Return whether an absolute path is a folder or inside the folder, in any spelling of the
    folder's name."""
    if whole == folder or whole.startswith(folder + _paths.sep):
        return True
    head, rest = whole[: len(folder)], whole[len(folder) :]
    if head.lower() != folder.lower() or rest[:1] not in ("", _paths.sep):
        return False
    try:
        return bool(_paths.samefile(head, folder))  # on a file system that ignores case
    except OSError:
        return False


def odd(text: str) -> str | None:
    """Return the reason why programs may interpret a path differently, or None."""
    if len(text) > 4096:
        return "is too long for a path"
    if _USUAL.fullmatch(text) and not _is_windows():
        return None
    if not text or text != text.strip():
        return "is empty, or begins or ends with a space"
    for char in text:
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or char in _SLASHES:
            return "has a character that is not allowed in a path"
    plain = unicodedata.normalize("NFKC", text)
    if any(plain.count(each) != text.count(each) for each in _SPECIAL):
        return "has a character that looks like a slash or a dot"
    if text[0] in '[{"' and _is_json(text):
        return "is JSON, which a tool may read as a different path"
    looks = _ODD if _is_windows() else {**_ODD_ON_UNIX, **_ODD}
    why = next((why for why, found in looks.items() if found.match(text)), None)
    return why_odd(text) if _is_windows() and why is None else why


def _is_windows() -> bool:
    return bool(_paths.sep == "\\")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _folder(folder_path: Any) -> str:
    if not isinstance(folder_path, (str, os.PathLike)) or not _paths.isdir(folder_path):
        raise HookError(f"paths_within({folder_path!r:.60}): the folder does not exist")
    return str(_paths.realpath(folder_path, strict=True)).rstrip(_paths.sep)
