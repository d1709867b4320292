"""AgentScope 1.0.21 on hookbus: its five hooked methods become hooks, and its own hooks become
receivers.

    from hookbus.adapters import agentscope

    uninstall = agentscope.install()
    signal("pre_acting").connect(only_in_the_sandbox, role="guard")

AgentScope's own registration keeps working. The registered hooks become receivers, so `explain` and
events include them.
"""

from ._install import HOOKS, SUPPORTED, install

__all__ = ["HOOKS", "SUPPORTED", "install"]
