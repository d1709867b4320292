"""The demo behind `hookbus demo`: AgentDojo's attacks against an agent that obeys every one of
them.

Nothing here measures a model. The agent is scripted to do the user's task, and to carry out an
injected goal as soon as it reads one. So the numbers show only the enforcement: what a policy stops
when the agent stops nothing. `hookbus.demo.policies` is the part to copy. It needs the extra:
`pip install 'hookbus[demo]'`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted(__all__)
