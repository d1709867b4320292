"""The self-test of the smolagents adapter, which calls a function `Tool`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, raised_text

SEAMS: Final = """
smolagents.agents:MultiStepAgent.__call__(self, task, **kwargs)
smolagents.agents:MultiStepAgent.run(self, task, stream, reset)
smolagents.agents:ToolCallingAgent._substitute_state_variables(self, arguments)
smolagents.agents:ToolCallingAgent.execute_tool_call(self, tool_name, arguments)
smolagents.models:Model.generate(self, messages, **kwargs)
smolagents.tools:BaseTool.__call__(self, *args, **kwargs)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that is called by a program and by an agent."""
    smolagents = import_module("smolagents")

    def forward(self: Any, amount: int, to: str) -> str:
        return pay(amount, to)

    described = {"amount": ("integer", "how much"), "to": ("string", "whom")}
    inputs = {name: {"type": kind, "description": text} for name, (kind, text) in described.items()}
    cls = type("SelfTest", (smolagents.Tool,), {
        "name": NAME, "description": "Pay.", "inputs": inputs, "output_type": "string",
        "forward": forward, "skip_forward_signature_validation": True,
    })  # fmt: skip
    tool = cls()
    agent = smolagents.ToolCallingAgent([tool], smolagents.Model(), verbosity_level=-1)

    def call(amount: int, to: str) -> Any:
        return tool(amount=amount, to=to)

    def execute(amount: int, to: str) -> Any:
        return agent.execute_tool_call(NAME, {"amount": amount, "to": to})

    def refused(given: Any) -> str:
        return given if isinstance(given, str) else raised_text(given)

    return Sample(
        {"BaseTool.__call__": call, "ToolCallingAgent.execute_tool_call": execute}, refused
    )
