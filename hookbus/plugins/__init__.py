"""The classes used by `hookbus.load_plugins`: its return value, and the objects passed to plugins.
"""

from ._api import PluginApi
from ._diagnostics import Diagnostic, PluginRow
from ._plugins import Plugins

__all__ = ["Diagnostic", "PluginApi", "PluginRow", "Plugins"]


def __dir__() -> list[str]:
    return sorted(__all__)
