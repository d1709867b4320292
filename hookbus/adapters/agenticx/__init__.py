"""AgenticX 0.6.5 on hookbus: its four modules of hooks, and the calls of its tools and models.

    from hookbus.adapters import agenticx

    uninstall = agenticx.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

AgenticX's own hooks go on working; they are receivers, which `explain` lists and events name.
"""

from ._install import SUPPORTED, install, namespaces

__all__ = ["SUPPORTED", "install", "namespaces"]
