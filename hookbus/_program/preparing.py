"""Apply the settings of a program before its own code runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .._bus import default_bus
from .._external.trust import read_toml
from .._ground.errors import did_you_mean
from ..exceptions import HookError
from .settings import Settings


def prepare(settings: Settings, *, plugins: Sequence[str] = (), adapters: str = "") -> None:
    """Apply the settings: adapters, plugins, shadow mode and required guards.

    Args:
        settings: the settings of the project.
        plugins: the ids and folders of additional plugins.
        adapters: the names of additional adapters, separated by commas.

    Raises:
        HookError: if a setting cannot be applied, because a program must not run without its
            guards.
    """
    default_bus._operator.prepare(settings.shadow, settings.require_guard)
    more = [name.strip() for name in adapters.split(",") if name.strip()]
    for name in dict.fromkeys((*settings.adapters, *more)):
        _install(name)
    arguments = _plugin_arguments(settings, plugins)
    if arguments is not None:
        from ..plugins._start import load_plugins

        loaded = load_plugins(**arguments)
        refused = [each for each in loaded.diagnostics if each.level == "error"]
        if refused:
            raise HookError("; ".join(map(str, refused)))
        off = [name for name in plugins if not _is_loaded(name, loaded.rows())]
        if off:
            raise HookError(f"plugin {off[0]!r} was not found{_known(off[0], loaded.rows())}")


def _install(name: str) -> None:
    adapters = import_module("hookbus.adapters")
    if name not in adapters.__all__:
        raise HookError(f"unknown adapter {name!r}{did_you_mean(name, adapters.__all__)}")
    getattr(adapters, name).install(default_bus)


def _is_loaded(name: str, rows: Sequence[Any]) -> bool:
    loaded = {row.plugin for row in rows if row.status == "loaded"}
    return (_id_in(Path(name)) if _is_folder(name) else name.rpartition(":")[2]) in loaded


def _known(name: str, rows: Sequence[Any]) -> str:
    hint = did_you_mean(name, [row.plugin for row in rows])
    return hint or ": pass its id, or the path of its folder"


def _is_folder(name: str) -> bool:
    return "/" in name or Path(name).is_dir()


def _plugin_arguments(settings: Settings, plugins: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments for `load_plugins`, or None if no plugins are configured."""
    if settings.plugins is None and not plugins:
        return None
    found = dict(settings.plugins or {})
    folders = [Path(name) for name in plugins if _is_folder(name)]
    places = {folder.absolute().parent for folder in folders}
    if len(places | {Path(found["user"]).absolute()} if "user" in found else places) > 1:
        raise HookError(
            "all plugin folders must have the same parent folder: move them into one"
        )
    names = [name for name in plugins if not _is_folder(name)]
    names += [f"user:{_id_in(folder)}" for folder in folders]
    if places:
        found["user"] = places.pop()
    if settings.plugins is None:
        found["allow"] = names
    return {**found, "enable": [*found.get("enable", ()), *names]}


def _id_in(folder: Path) -> str:
    """Return the plugin id from the manifest in a folder.

    Raises:
        HookError: if the manifest cannot be read.
    """
    file = folder / "hookbus-plugin.toml"
    table, _ = read_toml(file)
    if "id" not in table:
        raise HookError(f"{file} is not a valid plugin manifest: it has no id")
    return str(table["id"])


def ask_at(store: Path | None, seconds: float, people: Path | None) -> None:
    """Use a store as the approver of `default_bus`, if a store is given.

    Raises:
        HookError: if the file cannot be used, if the number of seconds is invalid, or if `--wait`
            is passed without a store.
    """
    if not 0 <= seconds <= 86_400:
        raise HookError(f"--wait {seconds:g} must be a number of seconds from 0 to 86400")
    if store is not None:
        from ..approvals import Store
        from .waiting import Waited

        default_bus.approver(Waited(Store(store, people=people), seconds))
    elif seconds:
        raise HookError("--wait needs a store of approvals: add --approvals FILE")
