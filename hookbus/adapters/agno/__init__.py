"""Agno 3.1.10 and 2.9.0 on hookbus: the calls of its tools, and what goes in and out of its runs.

    from hookbus.adapters import agno

    uninstall = agno.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

Agno's own hooks go on working; they are receivers, which `explain(function.tool_call)` lists and
events name.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
