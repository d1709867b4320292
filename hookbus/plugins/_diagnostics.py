"""Messages about plugins: a table row for each plugin, and diagnostics with each problem and
advice.
"""

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
    """A problem with a plugin.

    Attributes:
        level: `"error"` if the plugin was refused, and `"warning"` otherwise.
        plugin: the id of the plugin, or the name of its folder or entry point.
        file: the manifest, or the file or folder that was found instead.
        problem: the problem.
        advice: how to fix the problem.
        traceback: the traceback of the plugin's own exception, or None. It may contain secrets, so
            hookbus never shows it.
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
    """One plugin, as shown by `report` and `Plugins`.

    Attributes:
        plugin: the id of the plugin, or the name of its folder or entry point.
        version: the version in its manifest; None if the manifest cannot be read.
        place: workspace, user, bundled or installed.
        status: loaded, disabled, refused or unloaded.
        receivers: the number of its connected receivers.
        provides: the objects that it provides, as `kind:name`.
        why: why the plugin is not loaded, or a warning if it is loaded.
        file: the manifest, or the file or folder that was found instead.
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
    """Return a PluginError for an exception that a plugin raised.

    Only messages of the import system and of hookbus are shown, because the message of any other
    exception may contain a secret.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_NOT_THEIRS)
    ]
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at {error.filename}:{error.lineno}"
    message = f" ({error})" if isinstance(error, (ImportError, SyntaxError, HookError)) else ""
    failure = PluginError(
        f"{what} {type(error).__name__}{message}{where}",
        "fix it there; diagnostic.traceback has the full traceback",
    )
    failure.traceback = "".join(traceback.format_exception(error))
    return failure
