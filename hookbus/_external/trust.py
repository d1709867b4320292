"""Read files that must be trusted, because no other user can have written them."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..exceptions import HookError, PluginError

_ENCODING: Final = "utf-8-sig"
"""UTF-8 that skips a byte order mark, which some editors write at the start of a file."""

_MOST_LINKS: Final = 40


def check_owner(path: str, status: os.stat_result) -> None:
    """Raise PluginError if a file or folder belongs to a user other than this user or root, or if
    every user can write to it. Its group may have write access, because many systems give each user
    a separate group and use the umask 002.
    """
    if sys.platform == "win32":
        return
    if status.st_uid not in (0, os.geteuid()):
        raise PluginError(
            f"{path} belongs to user {status.st_uid}, who is neither root nor the user "
            f"{os.geteuid()} of this process",
            f"chown it: chown {os.geteuid()} {path}",
        )
    # The mode of a link has no meaning; its target is checked separately.
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & stat.S_IWOTH:
        raise PluginError(f"{path} is world-writable: anyone could change it", f"chmod o-w {path}")


def read_trusted(file: Path) -> str:
    """Return the text of a file that no other user can have written or replaced.

    Raises:
        HookError: if the file cannot be read, is not UTF-8, or cannot be trusted (see
            `check_trust`).
    """
    content, status = _read(file)
    check_trust(file, status)
    try:
        return content.decode(_ENCODING)
    except UnicodeDecodeError:
        raise HookError(f"{file} is not valid UTF-8") from None


def read_trusted_toml(file: Path) -> dict[str, Any]:
    """Return the contents of a TOML file that no other user can have written or replaced.

    Raises:
        HookError: if the file cannot be read, is not valid TOML, or cannot be trusted (see
            `check_trust`).
    """
    table, status = read_toml(file)
    check_trust(file, status)
    return table


def read_toml(file: Path) -> tuple[dict[str, Any], os.stat_result]:
    """Return the contents of a TOML file, and its status for `check_trust`.

    Raises:
        HookError: if the file cannot be read or is not valid TOML.
    """
    content, status = _read(file)
    try:
        return tomllib.loads(content.decode(_ENCODING)), status
    except (ValueError, RecursionError) as error:
        raise HookError(f"{file} is not valid TOML: {error}") from None


def _read(file: Path) -> tuple[bytes, os.stat_result]:
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            status = os.fstat(opened.fileno())  # of the open file, even if it is replaced
            if not stat.S_ISREG(status.st_mode):
                raise HookError(f"{file} cannot be read: it is not a regular file")
            return opened.read(), status
    except OSError as error:
        raise HookError(f"{file} cannot be read: {error.strerror}") from None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a program that writes to it, as a named pipe would."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_trust(file: Path, status: os.stat_result) -> None:
    """Raise HookError for a file that another user could have written. Members of the group of the
    file are trusted.

    Raises:
        HookError: if another user owns the file, a symbolic link in its path, or the folder of the
            file or link. The error is also raised if every user can write to one of them.
    """
    real = Path(os.path.realpath(file))
    try:
        check_owner(str(real), status)
        for path in _links_to(file):
            check_owner(str(path), os.lstat(path))
            check_owner(str(path.parent), os.stat(path.parent))
        check_owner(str(real.parent), os.stat(real.parent))
    except PluginError as error:
        raise HookError(str(error)) from None
    except OSError as error:
        raise HookError(f"{file} cannot be read: {error.strerror}") from None


def _links_to(file: Path) -> Iterator[Path]:
    """Yield the path of a file. If the file is a symbolic link, also yield each path in the chain
    of links.
    """
    yield file
    for _ in range(_MOST_LINKS):
        if not file.is_symlink():
            return
        file = file.parent / os.readlink(file)
        yield file
    raise HookError(f"{file} is a chain of more than {_MOST_LINKS} links")
