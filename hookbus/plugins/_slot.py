"""The state of a plugin that was found."""

from __future__ import annotations

import attrs

from hookbus.exceptions import PluginError

from ._diagnostics import Diagnostic, Level, PluginRow, Status
from ._discovery import Candidate
from ._loading import Loaded


@attrs.define(eq=False)
class Slot:
    """A plugin of the roster.

    Attributes:
        candidate: the plugin at the time when it was loaded or last read.
        why: the reason why the plugin is not loaded, or a warning about a loaded plugin.
        diagnostics: the problems of the last attempt to load the plugin.
    """

    candidate: Candidate
    status: Status = "unloaded"
    why: str | None = None
    diagnostics: list[Diagnostic] = attrs.field(factory=list)
    loaded: Loaded | None = None

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def key(self) -> tuple[str, str]:
        """The key that identifies the plugin when plugins are searched again."""
        return self.candidate.place, self.candidate.file

    @property
    def place_and_id(self) -> str:
        return f"{self.candidate.place}:{self.candidate.id}"

    @property
    def requires(self) -> tuple[str, ...]:
        """The required plugins, according to the loaded version or, if it is not loaded, to the
        version found.
        """
        manifest = self.loaded.manifest if self.loaded else self.candidate.manifest
        return manifest.plugins if manifest else ()

    def is_called(self, plugin: str) -> bool:
        return plugin in (self.id, self.place_and_id)

    def become(self, status: Status, why: str | None) -> None:
        self.status, self.why, self.diagnostics = status, why, []

    def warn(self, problem: PluginError) -> None:
        """Record a problem that does not prevent loading."""
        self._keep("warning", problem)
        self.why = self.why or problem.problem

    def refuse(self, problem: PluginError) -> None:
        """Record why the plugin, or its new version, is not loaded."""
        if self.loaded:
            self.become(
                "loaded", f"its reload was refused, so the old version is in use: {problem.problem}"
            )
        else:
            self.become("refused", problem.problem)
        self._keep("error", problem)

    def _keep(self, level: Level, problem: PluginError) -> None:
        diagnostic = Diagnostic(
            level, self.id, self.candidate.file, problem.problem, problem.advice, problem.traceback
        )
        self.diagnostics.append(diagnostic)

    def row(self) -> PluginRow:
        manifest, loaded = self.candidate.manifest, self.loaded
        provides = ", ".join(f"{kind}:{name}" for kind, name in loaded.provided) if loaded else ""
        return PluginRow(
            self.id, manifest.version if manifest else None, self.candidate.place, self.status,
            len(loaded.connections) if loaded else 0, provides, self.why, self.candidate.file,
        )  # fmt: skip
