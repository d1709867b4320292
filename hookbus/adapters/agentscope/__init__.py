"""AgentScope 1.0.21 on hookbus: the five methods it hooks are hooks, its own hooks receivers.

    from hookbus.adapters import agentscope

    uninstall = agentscope.install()
    signal("pre_acting").connect(only_in_the_sandbox, role="guard")

AgentScope's own registration goes on working; what it registers are receivers, which `explain`
lists and events name.
"""

from ._install import HOOKS, SUPPORTED, install

__all__ = ["HOOKS", "SUPPORTED", "install"]
