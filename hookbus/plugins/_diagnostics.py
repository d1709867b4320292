"""What is said of plugins: a row for each, and diagnostics that name plugin, file and cure."""

from __future__ import annotations

import os
import traceback
from typing import Final, Literal

import attrs

from hookbus.exceptions import HookError, PluginError

_NOT_THEIRS: Final = (os.path.join(os.path.dirname(os.path.dirname(__file__)), ""), "<frozen ")

Level = Literal["error", "warning"]
Status = Literal["loaded", "disabled", "refused", "unloaded"]


@attrs.frozen
class Diagnostic:
    """Something about a plugin that deserves a look.

    Attributes:
        level: `"error"` where the plugin was refused, else `"warning"`.
        plugin: its id, or the name under which it was found.
        file: its manifest, or what stands in its place.
        problem: what is wrong.
        advice: what to do about it.
        traceback: of the plugin's own exception, or None. It may hold what must not leave the
            process, so nothing shows it.
    """

    level: Level
    plugin: str
    file: str
    problem: str
    advice: str
    traceback: str | None = attrs.field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.level}: plugin {self.plugin} ({self.file}): {self.problem}; {self.advice}"


@attrs.frozen
class PluginRow:
    """One plugin as `report` and `Plugins` show it.

    Attributes:
        plugin: its id, or the name under which it was found.
        version: as its manifest says; None where that cannot be read.
        place: workspace, user, bundled or installed.
        status: loaded, disabled, refused or unloaded.
        receivers: how many it has connected.
        provides: what it provides, as `kind:name`.
        why: why it is not loaded, or what is wrong though it is.
        file: its manifest, or what stands in its place.
    """

    plugin: str
    version: str | None
    place: str
    status: Status
    receivers: int
    provides: str
    why: str | None
    file: str


def failure_of(what: str, error: BaseException) -> PluginError:
    """Return what a plugin's own exception means for it.

    Only the wording of the import system and of hookbus is shown; the text of any other exception
    may hold a secret.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_NOT_THEIRS)
    ]
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at {error.filename}:{error.lineno}"
    said = f" ({error})" if isinstance(error, (ImportError, SyntaxError, HookError)) else ""
    failure = PluginError(
        f"{what} {type(error).__name__}{said}{where}",
        "correct it there; diagnostic.traceback has it all",
    )
    failure.traceback = "".join(traceback.format_exception(error))
    return failure
