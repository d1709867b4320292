"""Bub 0.5.1 on hookbus: its hooks become questions, and its plugins' implementations become
receivers.

    from hookbus.adapters import bub

    uninstall = bub.install()
    signal("pre_tool_call").connect(only_in_the_sandbox, role="guard")

Plugins still register with pluggy. `explain(framework.question("build_prompt"))` and events include
them.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
