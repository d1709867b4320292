"""AgentScope 1.0.21: the five methods that it hooks are hooks, and its own hooks are receivers.

    from hookbus.adapters import agentscope

    uninstall = agentscope.install()
    signal("pre_acting").connect(only_in_the_sandbox, role="guard")

AgentScope's own registration keeps working. What it registers are receivers, which `explain` and
events show.
"""

from ._install import HOOKS, SUPPORTED, install

__all__ = ["HOOKS", "SUPPORTED", "install"]
