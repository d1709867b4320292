"""Decides which plugins are on, by the operator's lists, later switches, and HOOKBUS_PLUGINS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from hookbus.exceptions import HookError

from .._ground.errors import did_you_mean
from ._discovery import PLACES, Candidate

VARIABLE: Final = "HOOKBUS_PLUGINS"

Names = tuple[str, ...]


def names_of(option: str, names: Iterable[str] | None) -> Names | None:
    """Return the names passed for an option, or None.

    Raises:
        HookError: if a plugin cannot have a name.
    """
    if names is None:
        return None
    if isinstance(names, str):
        raise HookError(f"{option}={names!r} must be a list: {option}=[{names!r}]")
    found = tuple(names)
    for name in found:
        place = name.partition(":")[0] if isinstance(name, str) and ":" in name else "user"
        if not isinstance(name, str) or not name.rpartition(":")[2] or place not in PLACES:
            raise HookError(
                f"{option} contains {name!r}; write 'id', 'place:id' or 'place:*' with a place of "
                f"{', '.join(PLACES)}"
            )
    return found


def names_in_environment(environment: Mapping[str, str]) -> Names | None:
    """Return the names in HOOKBUS_PLUGINS, separated by commas.

    Return None if the variable is not set, and () if it is empty.
    """
    value = environment.get(VARIABLE)
    if value is None:
        return None
    return names_of(VARIABLE, [name.strip() for name in value.split(",") if name.strip()])


def is_named(candidate: Candidate, names: Names, *, in_workspace: bool = False) -> bool:
    """Return whether a list names a plugin. Unless `in_workspace` is set, a bare id does not name a
    plugin of the workspace, so that a workspace plugin cannot replace a plugin that the operator
    knows.
    """
    place, bare = candidate.place, in_workspace or candidate.place != "workspace"
    return any(
        name in (f"{place}:{candidate.id}", f"{place}:*") or (bare and name in (candidate.id, "*"))
        for name in names
    )


@attrs.define
class Selection:
    """The operator's settings for which plugins are on.

    Attributes:
        allow: the only plugins that may be on; None allows all.
        deny: plugins that are off, regardless of other settings.
        enable: plugins that are on, regardless of their manifest.
        environment: the plugins in HOOKBUS_PLUGINS, or None if the variable is not set. If it is
            set, exactly these plugins are on, unless `allow` or `deny` excludes them.
        disabled: plugins, as `place:id`, that were switched off later.
        enabled: plugins, as `place:id`, that were switched on later.
    """

    allow: Names | None
    deny: Names
    enable: Names
    environment: Names | None
    disabled: set[str] = attrs.field(factory=set)
    enabled: set[str] = attrs.field(factory=set)

    def switch(self, place_and_id: str, *, on: bool) -> None:
        """Switch a plugin on or off from now on."""
        (self.enabled if on else self.disabled).add(place_and_id)
        (self.disabled if on else self.enabled).discard(place_and_id)

    def why_forbidden(self, candidate: Candidate) -> str | None:
        """Return the reason why a plugin must not be on, or None."""
        if is_named(candidate, self.deny, in_workspace=True):
            return "deny= names it"
        if self.allow is not None and not is_named(candidate, self.allow):
            return "allow= does not name it"
        if self.environment is not None and not is_named(candidate, self.environment):
            return f"{VARIABLE} does not name it"
        return None

    def why_off(self, candidate: Candidate) -> str | None:
        """Return the reason why a plugin is off, or None if it is on."""
        forbidden = self.why_forbidden(candidate)
        if forbidden is not None:
            return forbidden
        place_and_id = f"{candidate.place}:{candidate.id}"
        if place_and_id in self.disabled:
            return "it was disabled"
        named = (*self.enable, *(self.environment or ()))
        if place_and_id in self.enabled or is_named(candidate, named):
            return None
        if candidate.place == "workspace":
            return f"a plugin of the workspace is off until enable=[{place_and_id!r}] names it"
        if candidate.manifest is not None and not candidate.manifest.enabled:
            return f"its manifest has enabled = false; enable=[{candidate.id!r}] switches it on"
        return None

    def strangers(self, candidates: list[Candidate]) -> Iterator[tuple[str, str]]:
        """Yield each name in the settings that matches no plugin, with a message."""
        known = {name for found in candidates for name in (found.id, f"{found.place}:{found.id}")}
        lists = {
            "allow=": self.allow, "deny=": self.deny, "enable=": self.enable,
            VARIABLE: self.environment,
        }  # fmt: skip
        for option, names in lists.items():
            for name in names or ():
                if not name.endswith("*") and name not in known:
                    yield (
                        name,
                        f"{option} names {name!r}, but no plugin has that id"
                        f"{did_you_mean(name, known)}",
                    )
