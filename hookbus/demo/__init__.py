"""The demo behind `hookbus demo`: AgentDojo's attacks against an agent that obeys every one of
them.

The demo does not measure a model. The agent is scripted to do the user's task, and to carry out an
injected goal as soon as it reads one. The numbers therefore show only the enforcement: the attacks
that a policy stops, because the agent stops none. `hookbus.demo.policies` is the part to copy. It
needs the extra: `pip install 'hookbus[demo]'`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted(__all__)
