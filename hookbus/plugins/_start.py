"""Defines `load_plugins`, which checks its arguments and then searches for plugins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hookbus._bus import Bus, default_bus
from hookbus._ground.keywords import check_bus, named_options
from hookbus._ground.locks import Lock
from hookbus.exceptions import HookError

from .._ground.errors import warn
from ._manifest import FILE_NAME
from ._operator import Word
from ._plugins import Plugins
from ._selection import Selection, names_in_environment, names_of

Path = str | os.PathLike[str]
ById = Mapping[str, Mapping[str, Any]]

_beginning: Final = Lock()


@named_options
def load_plugins(
    bus: Bus = default_bus, *, workspace: Path | None = None, user: Path | None = None,
    bundled: Path | None = None, installed: bool = True, allow: Iterable[str] | None = None,
    deny: Iterable[str] = (), enable: Iterable[str] = (), settings: ById | None = None,
    overrides: ById | None = None,
) -> Plugins:  # fmt: skip
    """Find plugins, and load all enabled plugins. Each plugin is loaded completely or not at all.

    A problem with a plugin becomes a diagnostic. If two enabled plugins have the same id, the
    plugin in the earlier place is used. The places are searched in the order workspace, user,
    bundled, installed.

    Args:
        bus: the bus that the plugins connect to. A bus has at most one `Plugins` object at a time.
        workspace: a folder with plugin folders in the project that the user works on. These plugins
            are off until `enable` names them.
        user: a folder with the user's plugin folders.
        bundled: a folder with plugin folders that are shipped with your application.
        installed: whether to also use the entry points of the group `hookbus.plugins`.
        allow: the only plugins that may be on. None allows all. Names are `"id"`, `"place:id"` or
            `"place:*"`.
        deny: plugins that are off, regardless of other settings.
        enable: plugins that are on, regardless of their manifest.
        settings: a mapping from plugin ids to settings, which are checked against the manifest.
        overrides: a mapping from plugin ids to overrides: `priority`, `timeout` (seconds) and
            `on_error` for all receivers, `shadow` for guards, and `receivers` with the same options
            by receiver name. Overrides take precedence over the plugin's options. A guard always
            blocks if it fails, unless `shadow` is True.

    Raises:
        HookError: if an argument is not valid, or if the bus already has plugins. In that case,
            nothing is loaded.
    """
    if isinstance(bus, type):
        check_bus(bus)
    if not isinstance(bus, Bus):
        instead = f"pass a folder by name, load_plugins(user={bus!r:.60})"
        raise HookError(f"{bus!r:.60} is not a bus: {instead}")
    selection = Selection(
        allow=names_of("allow", allow), deny=names_of("deny", deny) or (),
        enable=names_of("enable", enable) or (), environment=names_in_environment(os.environ),
    )  # fmt: skip
    places = _places(workspace=workspace, user=user, bundled=bundled)
    checked_overrides = _by_id("overrides", overrides or {})
    words = {plugin: Word.of(plugin, each) for plugin, each in checked_overrides.items()}
    settled = _by_id("settings", settings or {})
    plugins = Plugins(bus, places, installed, selection, settled, words)
    _begin(bus, plugins)
    return plugins


def _places(**folders: Path | None) -> dict[str, str]:
    for place, given in folders.items():
        if given is not None and not isinstance(given, (str, os.PathLike)):
            raise HookError(f"{place}={given!r:.60} must be one folder of plugin folders")
    found = {
        place: os.path.abspath(os.path.expanduser(folder))
        for place, folder in folders.items()
        if folder is not None
    }
    for place, folder in found.items():
        own = os.path.dirname(folder) if os.path.basename(folder) == FILE_NAME else folder
        if os.path.isfile(os.path.join(own, FILE_NAME)):
            raise HookError(
                f"{place}={os.fspath(str(folders[place]))!r} is itself a plugin, with a "
                f"{FILE_NAME}: pass the folder that contains it, {os.path.dirname(own)!r}"
            )
        if _has_loose_code(folder):
            warn(
                f"{place}={os.fspath(str(folders[place]))!r} contains no plugin: each plugin must "
                f"be a folder in it, with a {FILE_NAME}"
            )
    return found


def _has_loose_code(folder: str) -> bool:
    """Return whether a folder contains Python files but no subfolder that could be a plugin."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith((".", "_"))]
    except OSError:  # a missing folder counts as empty; other errors are reported later
        return False
    if any(os.path.isdir(os.path.join(folder, name)) for name in names):
        return False
    return any(name.endswith((".py", ".toml")) for name in names)


def _begin(bus: Bus, plugins: Plugins) -> None:
    with _beginning:
        if bus.plugins is not None:
            problem = "this bus already has plugins"
            raise HookError(f"{problem}: call load() on them, or close() them first")
        bus.plugins = plugins
    try:
        plugins.load()
    except BaseException:
        plugins.close()
        raise


def _by_id(option: str, mapping: ById) -> ById:
    if not isinstance(mapping, Mapping) or not all(
        isinstance(each, Mapping) for each in mapping.values()
    ):
        raise HookError(f"{option}={mapping!r:.60} must map the id of a plugin to a mapping")
    return dict(mapping)
