"""Agno 3.1.10 and 2.9.0: hooks around calls of tools, and the input and output of runs.

    from hookbus.adapters import agno

    uninstall = agno.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

Agno's own hooks keep working. They are receivers, which `explain(function.tool_call)` and events
show.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
