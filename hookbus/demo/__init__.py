"""The demo that `hookbus demo` runs: AgentDojo's attacks against an agent that obeys all of them.

The demo does not measure a model. The agent is scripted to do the user's task, and to carry out an
injected goal as soon as it reads the goal. The agent itself stops no attack, so the numbers show
only the attacks that a policy stops. Copy the policies in `hookbus.demo.policies` for your own
agent. Install the extra with `pip install 'hookbus[demo]'`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted(__all__)
