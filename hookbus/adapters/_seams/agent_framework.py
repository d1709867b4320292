"""The self-test of the Microsoft Agent Framework adapter, which calls a `FunctionTool`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of, raised_text

SEAMS: Final = """
agent_framework._clients:BaseChatClient._inner_get_response(self, *, messages, stream, options,
    **kwargs)
async agent_framework._tools:FunctionTool.invoke(self, *, arguments, context, tool_call_id,
    skip_parsing, **kwargs)
async agent_framework._tools:_auto_invoke_function(function_call_content, *, config, tool_map)
async agent_framework_orchestrations._handoff:_AutoHandoffMiddleware.process(self, context,
    call_next)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that a program can invoke directly or with the id of a model's tool call."""
    framework = import_module("agent_framework")
    tool = framework.FunctionTool(name=NAME, description="Pay.", func=functions_of(pay)[1])

    async def invoke(amount: int, to: str) -> Any:
        return await tool.invoke(arguments={"amount": amount, "to": to})

    async def invoke_for_a_model(amount: int, to: str) -> Any:
        return await tool.invoke(arguments={"amount": amount, "to": to}, tool_call_id="1")

    def refused(given: Any) -> str:
        contents = given if isinstance(given, list) else []
        is_told = contents and all(isinstance(each, framework.Content) for each in contents)
        return "".join(each.text for each in contents) if is_told else raised_text(given)

    ways = {
        "FunctionTool.invoke": invoke, "FunctionTool.invoke(tool_call_id=)": invoke_for_a_model,
    }  # fmt: skip
    return Sample(ways, refused)
