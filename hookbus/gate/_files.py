"""Locates the settings files of the agents, and reads and writes these files without losing
data."""

from __future__ import annotations

import json
import math
import os
import stat
import tempfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import attrs

from .. import HookError
from ._agents import Agent

_FILES: Final = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json", ".claude/settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json", ".codex/hooks.json"),
    "gemini": ("GEMINI_CLI_HOME", "", ".gemini/settings.json", ".gemini/settings.json"),
    "cursor": ("", ".cursor", "hooks.json", ".cursor/hooks.json"),
    "copilot": ("COPILOT_HOME", ".copilot", "hooks/hookbus.json", ".github/hooks/hookbus.json"),
    "opencode": (
        "XDG_CONFIG_HOME", ".config", "opencode/plugins/hookbus.js", ".opencode/plugins/hookbus.js",
    ),
}  # fmt: skip
"""For each agent, the variable that names its folder, the default folder in the home folder, and
the paths of the file in this folder and in a project.
"""


def file_of(agent: Agent, *, is_project: bool) -> Path:
    """Return the path of an agent's settings file, of the user or of the current folder."""
    variable, folder, name, in_project = _FILES[agent.name]
    if is_project:
        return Path.cwd() / in_project
    own = os.environ.get(variable) if variable else None
    return (Path(own) if own else Path.home() / folder) / name


@attrs.frozen
class Contents:
    """The contents of a file.

    Attributes:
        value: the parsed JSON; an empty object if the file does not exist.
        data: the bytes of the file; None if it does not exist.
    """

    value: Any
    data: bytes | None


def read_contents(file: Path) -> Contents:
    """Return the contents of a file.

    Raises:
        HookError: if the file cannot be read, or if writing it again would lose data.
    """
    data = read_bytes(file)
    if data is None:
        return Contents({}, None)
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_once,
            parse_float=_exact, parse_constant=_refuse_number,
        )  # fmt: skip
    except (ValueError, RecursionError) as error:
        raise HookError(f"{file} is not plain JSON, and is left as it is: {error}") from None
    return Contents(value, data)


def read_json(file: Path) -> Any:
    """Return the JSON value in a file, or an empty object if the file does not exist.

    Raises:
        HookError: as in `read_contents`.
    """
    return read_contents(file).value


def read_bytes(file: Path) -> bytes | None:
    """Return the bytes of a file, or None if the file does not exist.

    Raises:
        HookError: if it cannot be read.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise HookError(f"{file} is left as it is: it is not a regular file")
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookError(f"{file} cannot be read: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it has a duplicate name in an object")
    return found


def _exact(text: str) -> float:
    value = float(text)
    try:
        is_exact = Decimal(repr(value)) == Decimal(text) and math.isfinite(value)
    except ArithmeticError:  # an exponent that not even a Decimal has
        is_exact = False
    return value if is_exact else _refuse_number(text)


def _refuse_number(text: str) -> float:
    raise ValueError(f"the number {text:.40} would change when written")


def write_json(file: Path, value: Any, *, read: bytes | None) -> None:
    """Replace the contents of a file atomically, keeping its mode and owner. If the file is a
    symbolic link, its target is replaced.

    Args:
        file: the file.
        value: the new contents.
        read: the bytes that the file had when it was read; None if it did not exist.

    Raises:
        HookError: if the file has changed since then, or the value cannot be written.
        OSError: if the file cannot be written. In both cases, its contents are unchanged.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(file, text, read=read)


def write_text(file: Path, text: str, *, read: bytes | None) -> None:
    """Write a string to a file in the same way as `write_json`."""
    target = Path(os.path.realpath(file))
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise HookError(
            f"{file} is left as it is: a string in it, or the path of the settings, has half of "
            "a surrogate pair, which UTF-8 cannot represent"
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(number, "wb") as beside:
            beside.write(data)
        if read is not None:
            former = target.stat()
            os.chown(name, former.st_uid, former.st_gid)
            os.chmod(name, stat.S_IMODE(former.st_mode))
        _check_unchanged(file, read)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def remove_file(file: Path, *, read: bytes | None) -> None:
    """Remove a file.

    Raises:
        HookError: if the file has changed since it was read.
        OSError: if the file cannot be removed.
    """
    _check_unchanged(file, read)
    file.unlink()


def _check_unchanged(file: Path, read: bytes | None) -> None:
    if read_bytes(file) != read:
        raise HookError(f"{file} is left as it is: another program has just changed it; try again")
