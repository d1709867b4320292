"""AgenticX 0.6.5 on hookbus: its four hook modules, and hooks around calls to its tools and models.

    from hookbus.adapters import agenticx

    uninstall = agenticx.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

AgenticX's own hooks keep working. They become receivers, so `explain` and events include them.
"""

from ._install import SUPPORTED, install, namespaces

__all__ = ["SUPPORTED", "install", "namespaces"]
