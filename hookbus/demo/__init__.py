"""The demo behind `hookbus demo`: AgentDojo's attacks against an agent that obeys every one of
them.

Nothing here measures a model. The agent is scripted to play the user's task and to carry out an
injected goal the moment it reads one, so what the numbers show is the enforcement layer alone: what
a policy stops when the agent itself stops nothing. `hookbus.demo.policies` is the part to copy.
Needs the extra: `pip install 'hookbus[demo]'`.
"""
