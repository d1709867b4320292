"""Keeps the plugins that were found for a bus, and determines which plugins to load, and in which
order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from hookbus._bus import Bus
from hookbus._hooks.identity import IdentityMap
from hookbus.exceptions import HookError, PluginError

from .._ground.errors import did_you_mean
from ._diagnostics import Diagnostic, Status
from ._discovery import Candidate, again, find
from ._loading import Loaded, load
from ._operator import Word
from ._requirements import check_environment, circle_through, in_load_order
from ._selection import Selection
from ._settings import fill
from ._slot import Slot


@attrs.define(eq=False)
class Roster:
    """The plugins of a bus.

    Attributes:
        slots: all plugins that were found, by place and name.
        loaded: the loaded plugins, by id, in the order of loading.
        strangers: warnings about names in the operator's arguments that match no plugin.
        origins: for every receiver of a plugin, the plugin's id and the operator's changes.
    """

    bus: Bus
    folders: Mapping[str, str]
    installed: bool
    selection: Selection
    settings: Mapping[str, Mapping[str, Any]]
    words: Mapping[str, Word]
    slots: list[Slot] = attrs.field(factory=list)
    loaded: dict[str, Slot] = attrs.field(factory=dict)
    strangers: list[Diagnostic] = attrs.field(factory=list)
    origins: IdentityMap[tuple[str, str | None]] = attrs.field(factory=IdentityMap)

    def slot(self, plugin: str) -> Slot:
        """Return the plugin with this name. If several plugins have this name, prefer the loaded
        plugin, and then a plugin outside the workspace.

        Raises:
            HookError: if no plugin has this name.
        """
        found = [slot for slot in self.slots if slot.is_called(plugin)]
        if not found:
            raise HookError(
                f"there is no plugin {plugin!r}"
                + did_you_mean(str(plugin), [slot.id for slot in self.slots])
            )
        return min(
            found,
            key=lambda slot: (
                slot.loaded is None,
                slot.candidate.place == "workspace" and ":" not in plugin,
            ),
        )

    # -- searching ---------------------------------------------------------------------------------

    def look(self, plugin: str | None = None) -> list[Slot]:
        """Search for plugins, and return the plugins to load.

        If a name is given, only that plugin is read again.
        """
        earlier = {slot.key: slot for slot in self.slots}
        found = [Slot(candidate) for candidate in find(self.folders, installed=self.installed)]
        self.slots = [_newer(earlier.get(slot.key, slot), slot, plugin) for slot in found]
        fresh = [slot for slot in self.slots if slot not in earlier.values()]
        self.slots += [slot for slot in self.loaded.values() if slot not in self.slots]
        owners = dict(self.loaded)
        for slot in fresh:
            self._judge(slot, owners)
        candidates = [slot.candidate for slot in self.slots]
        self.strangers = [
            Diagnostic(
                "warning", name, "the arguments of load_plugins", problem, "correct or remove it"
            )
            for name, problem in (
                *self.selection.strangers(candidates),
                *self._unknown_ids(candidates),
            )
        ]
        on = [slot for slot in fresh if slot.status == "unloaded"]
        for slot in on:
            slot.why = "it was found but is not loaded yet"
        return [slot for slot in on if plugin is None or slot.is_called(plugin)]

    def _judge(self, slot: Slot, owners: dict[str, Slot]) -> None:
        candidate = slot.candidate
        why_off = (
            self.selection.why_forbidden(candidate)
            if candidate.problem
            else self.selection.why_off(candidate)
        )
        if candidate.problem is not None and (candidate.is_place or why_off is None):
            slot.refuse(candidate.problem)
        elif why_off is not None:
            slot.become("disabled", why_off)
        elif owners.setdefault(slot.id, slot) is not slot:
            first = owners[slot.id]
            where = f"{first.candidate.place} ({first.candidate.file})"
            problem = f"the plugin of {where} has the id {slot.id!r} and shadows this one"
            advice = f"change the id of one of them, or deny one: deny=[{first.place_and_id!r}]"
            slot.refuse(PluginError(problem, advice))

    def _unknown_ids(self, candidates: list[Candidate]) -> list[tuple[str, str]]:
        known = {candidate.id for candidate in candidates}
        by_option: dict[str, Any] = {"settings=": self.settings, "overrides=": self.words}
        return [
            (name, f"{option} names {name!r}, but no plugin has that id{did_you_mean(name, known)}")
            for option, names in by_option.items() for name in names if name not in known
        ]  # fmt: skip

    # -- loading and unloading ---------------------------------------------------------------------

    def load(self, slots: list[Slot], provided: Callable[[str, str], Any]) -> None:
        """Load plugins, each after the plugins that it requires. Plugins in a cycle are refused."""
        by_id = {slot.id: slot for slot in slots}
        requires = {plugin: slot.requires for plugin, slot in by_id.items()}
        for plugin, slot in by_id.items():
            circle = circle_through(plugin, requires)
            if circle:
                slot.refuse(_circle(circle))
        for plugin in in_load_order(requires):
            if by_id[plugin].status == "unloaded":
                self._attempt(by_id[plugin], by_id[plugin].candidate, provided)

    def reload(self, slot: Slot, provided: Callable[[str, str], Any]) -> None:
        """Replace the loaded version of a plugin with its current version."""
        self._attempt(slot, again(slot.candidate, self.folders.get(slot.candidate.place)), provided)

    def _attempt(
        self, slot: Slot, candidate: Candidate, provided: Callable[[str, str], Any]
    ) -> None:
        try:
            loaded = self._load(slot, candidate, provided)
        except PluginError as problem:
            slot.refuse(problem)
            return
        old, slot.candidate, slot.loaded = slot.loaded, candidate, loaded
        self.loaded[slot.id] = slot
        slot.become("loaded", None)
        for receiver, note in loaded.notes:
            self.origins.set(receiver, (slot.id, note))
        for warning in (*loaded.warnings, *(old.leave() if old else ())):
            slot.warn(warning)

    def _load(
        self, slot: Slot, candidate: Candidate, provided: Callable[[str, str], Any]
    ) -> Loaded:
        manifest = candidate.manifest
        if candidate.problem is not None or manifest is None:
            raise candidate.problem or PluginError("it has no manifest", "write one")
        if slot.loaded is not None and manifest.id != slot.id:
            raise PluginError(
                f"its id has changed from {slot.id!r} to {manifest.id!r}",
                "unload it, then load it under its new id",
            )
        check_environment(manifest, os.environ)
        self._check_required(manifest.id, manifest.plugins)
        self._check_names_are_free(slot, manifest.provides)
        settings = fill(manifest.settings, self.settings.get(manifest.id, {}))
        word = self.words.get(manifest.id, Word())
        return load(self.bus, candidate, manifest, settings, word, provided, slot.loaded)

    def _check_required(self, plugin: str, required: tuple[str, ...]) -> None:
        circle = circle_through(
            plugin, {**{slot.id: slot.requires for slot in self.loaded.values()}, plugin: required}
        )
        if circle:
            raise _circle(circle)
        for other in required:
            if other not in self.loaded:
                found = [slot for slot in self.slots if slot.id == other]
                state = f"is {found[0].status} ({found[0].why})" if found else "does not exist"
                raise PluginError(
                    f"it requires the plugin {other!r}, which {state}", f"load {other} first"
                )

    def _check_names_are_free(self, slot: Slot, provides: Mapping[str, tuple[str, ...]]) -> None:
        """Reject a plugin whose manifest lists a kind and name that another plugin already
        provides.
        """
        for owner in self.loaded.values():
            taken = owner.loaded.manifest.provides if owner.loaded and owner is not slot else {}
            for kind, names in provides.items():
                for name in names:
                    if name in taken.get(kind, ()):
                        raise PluginError(
                            f"the {kind} {name!r} is already provided by the plugin {owner.id} "
                            f"({owner.candidate.file})",
                            f"rename it, or disable {owner.id}",
                        )

    def take_all_out(self, why: str) -> None:
        """Unload all plugins in reverse order. An interrupt is raised only after all plugins are
        unloaded."""
        fatal: BaseException | None = None
        for slot in reversed(list(self.loaded.values())):
            try:
                self.take_out(slot, "unloaded", why)
            except BaseException as error:
                fatal = fatal or error
        if fatal is not None:
            raise fatal

    def take_out(self, slot: Slot, status: Status, why: str) -> None:
        """Unload a plugin, even if other plugins require it. For a plugin that is not loaded, only
        change the status.
        """
        loaded, slot.loaded = slot.loaded, None
        slot.become(status, why)
        if loaded is not None:
            self.loaded.pop(slot.id, None)
            for warning in loaded.leave():
                slot.warn(warning)

    def check_not_required(self, slot: Slot) -> None:
        """Raise HookError if a loaded plugin requires this one."""
        needed = [
            other.id for other in self.loaded.values() if slot.loaded and slot.id in other.requires
        ]
        if needed:
            raise HookError(
                f"the plugin {slot.id!r} is required by {', '.join(needed)}: unload that first"
            )


def _newer(old: Slot, new: Slot, plugin: str | None) -> Slot:
    """Return the slot of a plugin after a search. Loaded plugins and plugins that the search did
    not include keep their old slots.
    """
    is_meant = plugin is None or old.is_called(plugin) or new.is_called(plugin)
    return new if is_meant and not old.loaded else old


def _circle(way: list[str]) -> PluginError:
    return PluginError(
        f"it requires itself: {' -> '.join(way)}", "remove one of these requirements"
    )
