"""The arguments of `load_plugins`, checked; then the first look."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from hookbus._bus import Bus
from hookbus.exceptions import HookError

from ._operator import Word
from ._plugins import Plugins
from ._selection import Selection, names_in_environment, names_of

ById = Mapping[str, Mapping[str, Any]]


def start(
    bus: Bus, folders: Mapping[str, str | os.PathLike[str] | None], installed: bool,
    allow: Iterable[str] | None,
    deny: Iterable[str], enable: Iterable[str], settings: ById, overrides: ById,
) -> Plugins:  # fmt: skip
    """Do what `load_plugins` promises."""
    selection = Selection(
        allow=names_of("allow", allow), deny=names_of("deny", deny) or (),
        enable=names_of("enable", enable) or (),
        environment=names_in_environment(os.environ),
    )  # fmt: skip
    places = {
        place: os.path.abspath(os.path.expanduser(folder))
        for place, folder in folders.items()
        if folder is not None
    }
    words = {
        plugin: Word.of(plugin, said) for plugin, said in _by_id("overrides", overrides).items()
    }
    plugins = Plugins(bus, places, installed, selection, _by_id("settings", settings), words)
    with bus.lock:
        if bus.plugins is not None:
            raise HookError(
                "this bus has plugins already: call load() on them, or close() them first"
            )
        bus.plugins = plugins
    try:
        plugins.load()
    except BaseException:
        plugins.close()
        raise
    return plugins


def _by_id(option: str, said: ById) -> ById:
    if not isinstance(said, Mapping) or not all(
        isinstance(each, Mapping) for each in said.values()
    ):
        raise HookError(f"{option}={said!r:.60} must map the id of a plugin to a mapping")
    return dict(said)
