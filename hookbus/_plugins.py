"""load_plugins: the way in; all it needs is imported when it is called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._bus import Bus, default_bus

if TYPE_CHECKING:
    from .plugins import Plugins

Path = str | os.PathLike[str]


def load_plugins(
    bus: Bus = default_bus, *, workspace: Path | None = None, user: Path | None = None,
    bundled: Path | None = None,
    installed: bool = True, allow: Iterable[str] | None = None, deny: Iterable[str] = (),
    enable: Iterable[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plugins:  # fmt: skip
    """Find plugins and load those that are on, each as a whole or not at all; what is wrong with
    one is a diagnostic.

    Of two plugins with one id that are on, that of the earlier place is taken: workspace, user,
    bundled, installed.

    Args:
        bus: what they connect to; it has one set of plugins at a time.
        workspace: a folder of plugin folders that came with what is worked on; they are off until
            `enable` names them.
        user: a folder of plugin folders of the user.
        bundled: a folder of plugin folders that came with the host.
        installed: also take the entry points of the group `hookbus.plugins`.
        allow: only these may be on; None lets all. Names are `"id"`, `"place:id"` or `"place:*"`.
        deny: these are off, whatever else is said.
        enable: these are on, though their manifest may say otherwise.
        settings: plugin id to its settings, checked against its manifest.
        overrides: plugin id to `priority`, `timeout` (seconds) and `on_error` for its receivers,
            and under `receivers` the same by name of a receiver. They stand over what the plugin
            says; a guard always blocks.

    Raises:
        HookError: if an argument makes no sense, or the bus has plugins already; nothing is loaded
            then.
    """
    from .plugins._start import start

    folders = {"workspace": workspace, "user": user, "bundled": bundled}
    return start(bus, folders, installed, allow, deny, enable, settings or {}, overrides or {})
