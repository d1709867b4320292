"""AgenticX 0.6.5: its four modules of hooks, and hooks around calls of tools and models.

    from hookbus.adapters import agenticx

    uninstall = agenticx.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

AgenticX's own hooks keep working. They are receivers, which `explain` and events show.
"""

from ._install import SUPPORTED, install, namespaces

__all__ = ["SUPPORTED", "install", "namespaces"]
