"""The class `Plugins`, which `load_plugins` returns. It lists, loads and unloads plugins, and
returns the objects that they provide.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from hookbus._bus import Bus
from hookbus._connections.receiver import Connected
from hookbus._ground.locks import Lock
from hookbus._views.html import Pictured, titled
from hookbus._views.tables import columns, escape, html_table, text_table
from hookbus.exceptions import HookError

from .._ground.errors import did_you_mean
from ._diagnostics import Diagnostic, PluginRow
from ._operator import Word
from ._roster import Roster
from ._selection import VARIABLE, Selection, is_named


class Plugins(Pictured):
    """The plugins of a bus, returned by `load_plugins`. A `with` statement unloads all plugins at
    its end.

    Name a plugin by its id, or by place and id, such as `"workspace:search"`. A problem with a
    plugin becomes a diagnostic. An invalid request, such as an unknown id, raises `HookError`.
    """

    def __init__(
        self, bus: Bus, folders: Mapping[str, str], installed: bool, selection: Selection,
        settings: Mapping[str, Mapping[str, Any]], words: Mapping[str, Word],
    ) -> None:  # fmt: skip
        self._roster = Roster(bus, folders, installed, selection, settings, words)
        self._lock = Lock()
        self._is_busy = self._is_closed = False

    # -- state -------------------------------------------------------------------------------------

    @property
    def loaded(self) -> tuple[str, ...]:
        """The ids of the loaded plugins, in the order of loading."""
        return tuple(self._roster.loaded)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems of the last attempt to load each plugin.

        The list includes names in the arguments of `load_plugins` that match no plugin.
        """
        return (
            *(diagnostic for slot in list(self._roster.slots) for diagnostic in slot.diagnostics),
            *self._roster.strangers,
        )

    def rows(self) -> tuple[PluginRow, ...]:
        """Return one row for each plugin that was found, by place and name."""
        return tuple(slot.row() for slot in list(self._roster.slots))

    def __str__(self) -> str:
        rows = [attrs.asdict(row) for row in self.rows()]
        table = text_table(columns(rows)) if rows else "  no plugins were found"
        return "\n".join([table, *map(str, self.diagnostics)])

    def _html_parts(self) -> list[str]:
        rows = [attrs.asdict(row) for row in self.rows()]
        table = html_table(columns(rows)) if rows else "<p>no plugins were found</p>"
        items = "".join(f"<li>{escape(str(each))}</li>" for each in self.diagnostics)
        return [titled("plugins", table), f"<ul>{items}</ul>" if items else ""]

    def provided(self, kind: str, name: str) -> Any:
        """Return the object that a loaded plugin provides under this kind and name.

        Raises:
            HookError: if no loaded plugin provides such an object. The message lists the known
                names.
        """
        everything = self.all_provided(kind)
        if name not in everything:
            raise HookError(
                f"no loaded plugin provides the {kind} {name!r}{did_you_mean(name, everything)}"
            )
        return everything[name]

    def all_provided(self, kind: str) -> dict[str, Any]:
        """Return all objects of one kind that loaded plugins provide, by name."""
        in_force = [slot.loaded for slot in list(self._roster.loaded.values())]
        return {
            name: obj
            for loaded in in_force
            if loaded
            for (of, name), obj in list(loaded.provided.items())
            if of == kind
        }

    def require(self, *plugins: str) -> None:
        """Check that these plugins are loaded, such as at start-up.

        Raises:
            HookError: if a plugin is not loaded; the message names the first such plugin and the
                reason.
        """
        for plugin in plugins:
            slot = self._roster.slot(plugin)
            if slot.loaded is None:
                raise HookError(f"the plugin {plugin!r} is {slot.status}: {slot.why}")

    def environment(self) -> dict[str, str]:
        """Return an environment variable with which a worker process loads exactly the plugins that
        are loaded in this process.
        """
        return {VARIABLE: ",".join(slot.place_and_id for slot in self._roster.loaded.values())}

    def origin_of(self, receiver: Connected) -> tuple[str, str | None] | None:
        """Return a receiver's plugin, and the operator's changes to the receiver, or None."""
        return self._roster.origins.get(receiver)

    # -- changes -----------------------------------------------------------------------------------

    def load(self, plugin: str | None = None) -> None:
        """Search for plugins again, and load the enabled plugins that are not loaded yet. With a
        name, load only that plugin.

        Raises:
            HookError: if no plugin has this name.
        """
        with self._changing():
            self._load(plugin)

    def unload(self, plugin: str) -> None:
        """Unload a plugin, if it is loaded. The next `load` loads the plugin again.

        Raises:
            HookError: if the plugin does not exist, or if a loaded plugin requires it.
        """
        with self._changing():
            slot = self._roster.slot(plugin)
            self._roster.check_not_required(slot)
            if slot.loaded:
                self._roster.take_out(slot, "unloaded", "it was unloaded")

    def disable(self, plugin: str) -> None:
        """Unload a plugin, and do not load it again until it is enabled.

        Raises:
            HookError: if the plugin does not exist, or if a loaded plugin requires it.
        """
        with self._changing():
            slot = self._roster.slot(plugin)
            self._roster.check_not_required(slot)
            self._roster.selection.switch(slot.place_and_id, on=False)
            self._roster.take_out(slot, "disabled", "it was disabled")

    def enable(self, plugin: str) -> None:
        """Enable a plugin and load it, even if it is off by default or has been refused before.

        Raises:
            HookError: if the plugin does not exist, or if allow, deny or HOOKBUS_PLUGINS exclude
                it.
        """
        with self._changing():
            slot = self._roster.slot(plugin)
            forbidden = self._roster.selection.why_forbidden(slot.candidate)
            if forbidden is None and not slot.loaded and not is_named(slot.candidate, (plugin,)):
                forbidden = f"it is in the workspace; name it {slot.place_and_id!r}"
            if forbidden is not None:
                raise HookError(f"the plugin {plugin!r} cannot be enabled: {forbidden}")
            self._roster.selection.switch(slot.place_and_id, on=True)
            self._load(slot.place_and_id)

    def reload(self, plugin: str) -> None:
        """Read the manifest and code of a plugin again, and replace the loaded version. If the new
        version is refused, the old version stays loaded.

        An installed plugin registers again, but its modules are not imported again. A plugin that
        is not loaded is loaded.

        Raises:
            HookError: if the plugin does not exist.
        """
        with self._changing():
            slot = self._roster.slot(plugin)
            if slot.loaded:
                self._roster.reload(slot, self.provided)
            else:
                self._load(slot.place_and_id)

    def close(self) -> None:
        """Unload all plugins in reverse order, and detach from the bus. A second call does
        nothing."""
        with self._changing(even_closed=True):
            self._is_closed = True
            try:
                self._roster.take_all_out("the plugins were closed")
            finally:
                if self._roster.bus.plugins is self:
                    self._roster.bus.plugins = None

    def __enter__(self) -> Plugins:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, plugin: str | None) -> None:
        found = self._roster.look(plugin)
        if plugin is not None:
            self._roster.slot(plugin)
        self._roster.load(found, self.provided)

    @contextmanager
    def _changing(self, *, even_closed: bool = False) -> Generator[None, None, None]:
        """Hold the lock while plugins are loaded or unloaded."""
        with self._lock:
            if self._is_busy:
                raise HookError(
                    "plugins cannot be loaded or unloaded while one of them registers or cleans up"
                )
            if self._is_closed and not even_closed:
                raise HookError("these plugins are closed: call load_plugins again")
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False
