"""What `load_plugins` returns and what plugins are given; `hookbus.load_plugins` is the way in."""

from ._api import PluginApi
from ._diagnostics import Diagnostic, PluginRow
from ._plugins import Plugins

__all__ = ["Diagnostic", "PluginApi", "PluginRow", "Plugins"]
