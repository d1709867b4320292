"""The settings files of the agents: where they are, read and written without a loss."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .. import HookError
from ._agents import Agent

_NAMES: Final = {"claude": "settings.json", "codex": "hooks.json", "gemini": "settings.json"}
_VARIABLES: Final = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}


def file_of(agent: Agent, *, is_project: bool) -> Path:
    """Return the settings file of an agent: the user's, or that of the current folder."""
    folder = Path.cwd() if is_project else Path.home()
    own = os.environ.get(_VARIABLES.get(agent.name, "")) if not is_project else None
    return (Path(own) if own else folder / f".{agent.name}") / _NAMES[agent.name]


def read_json(file: Path) -> Any:
    """Return the contents of a file, or an empty object if there is none.

    Raises:
        HookError: if it cannot be read, is not JSON, or names something twice.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise HookError(f"{file} cannot be read: {error}") from None
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise HookError(f"{file} is not plain JSON, and is left as it is: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it has a name twice in one object")
    return found


def write_json(file: Path, value: Any) -> None:
    """Write the contents of a file at once, with its rights. A link stays a link.

    Raises:
        OSError: if it cannot be written; then it is as it was.
    """
    target = Path(os.path.realpath(file))
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(number, "w", encoding="utf-8") as beside:
            json.dump(value, beside, indent=2, ensure_ascii=False)
            beside.write("\n")
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
