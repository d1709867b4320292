"""Bub 0.5.1: its hooks are hookspecs, and its plugins' implementations are receivers.

    from hookbus.adapters import bub

    uninstall = bub.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

Plugins register with pluggy as before. `explain(framework.question("build_prompt"))` and events
show them.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
