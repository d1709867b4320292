"""Agno 3.1.10 and 2.9.0 on hookbus: hooks around its tool calls, and around the input and output of
its runs.

    from hookbus.adapters import agno

    uninstall = agno.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

Agno's own hooks keep working. They become receivers, so `explain(function.tool_call)` and events
include them.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
