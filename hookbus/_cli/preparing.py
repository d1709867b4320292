"""What the settings and options of a command put in place before any code of the user runs."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import HookError, default_bus
from ..exceptions import did_you_mean
from .settings import Settings
from .target import module_of, object_of


def prepare(settings: Settings, *, plugins: Sequence[str] = (), adapters: str = "") -> None:
    """Put in place what the settings name: adapters, plugins, the operator's word.

    Args:
        settings: of the project.
        plugins: ids and folders of more plugins.
        adapters: names of more adapters, with commas between.

    Raises:
        HookError: if one of them cannot be used: a program must not run without what was to guard
            it.
    """
    default_bus._operate(shadow=settings.shadow, require=settings.require)
    more = [name.strip() for name in adapters.split(",") if name.strip()]
    for name in dict.fromkeys((*settings.adapters, *more)):
        _install(name)
    arguments = _plugin_arguments(settings, plugins)
    if arguments is not None:
        from .. import load_plugins

        loaded = load_plugins(**arguments)
        refused = [each for each in loaded.diagnostics if each.level == "error"]
        if refused:
            raise HookError("; ".join(map(str, refused)))
        off = [name for name in plugins if not _is_loaded(name, loaded.rows())]
        if off:
            raise HookError(f"no plugin {off[0]!r} was found{_known(off[0], loaded.rows())}")


def _install(name: str) -> None:
    adapters = import_module("hookbus.adapters")
    if name not in adapters.__all__:
        raise HookError(f"there is no adapter {name!r}{did_you_mean(name, adapters.__all__)}")
    getattr(adapters, name).install(default_bus)


def _is_loaded(name: str, rows: Sequence[Any]) -> bool:
    loaded = {row.plugin for row in rows if row.status == "loaded"}
    return (_id_in(Path(name)) if _is_folder(name) else name.rpartition(":")[2]) in loaded


def _known(name: str, rows: Sequence[Any]) -> str:
    hint = did_you_mean(name, [row.plugin for row in rows])
    return hint or ": give its id, or the path of its folder"


def _is_folder(name: str) -> bool:
    return "/" in name or Path(name).is_dir()


def _plugin_arguments(settings: Settings, plugins: Sequence[str]) -> dict[str, Any] | None:
    """Return what `load_plugins` is to be given, or None where no plugins are asked for."""
    if settings.plugins is None and not plugins:
        return None
    found = dict(settings.plugins or {})
    folders = [Path(name) for name in plugins if _is_folder(name)]
    places = {folder.absolute().parent for folder in folders}
    if len(places | {Path(found["user"]).absolute()} if "user" in found else places) > 1:
        raise HookError(
            "plugins come from one folder of plugins at a time: put them beside each other"
        )
    names = [name for name in plugins if not _is_folder(name)]
    names += [f"user:{_id_in(folder)}" for folder in folders]
    if places:
        found["user"] = places.pop()
    if settings.plugins is None:
        found["allow"] = names
    return {**found, "enable": [*found.get("enable", ()), *names]}


def _id_in(folder: Path) -> str:
    """Return the id that the manifest of a plugin's folder says.

    Raises:
        HookError: if there is none that can be read.
    """
    file = folder / "hookbus-plugin.toml"
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8"))["id"])
    except OSError as error:
        raise HookError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise HookError(f"{file} is no manifest of a plugin: {error}") from None


def instrument_named(target: str) -> None:
    """Make one method or function hookable, by `module:Class.method` or `module:function`, and
    `=name` for another name of the hook.

    Raises:
        HookError: if there is none, or it cannot be hooked.
    """
    path, _, hook = target.partition("=")
    module, colon, dotted = path.rpartition(":")
    owner, _, name = dotted.rpartition(".")
    if not colon or not name:
        raise HookError(f"--instrument {target!r} names nothing: write module:Class.method")
    from .. import instrument

    held = object_of(f"{module}:{owner}") if owner else module_of(module)
    instrument(held, {name: hook or name})
