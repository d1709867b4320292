"""The self-test of the Strands adapter, which calls a function tool."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
strands.agent.agent:Agent.stream_async(self, prompt, *, invocation_state, **kwargs)
strands.models.model:Model.stream(self, messages, tool_specs, system_prompt, *, tool_choice,
    invocation_state, **kwargs)
strands.tools.executors._executor:_run_tool(ctx, extra_kwargs, tool_context)
strands.types.tools:AgentTool.stream(self, tool_use, invocation_state, **kwargs)
"""


def sample(pay: Pay) -> Sample:
    """Create tools that are called as streams, as all agents call them."""
    make = import_module("strands").tool(name=NAME)
    plain, awaited = map(make, functions_of(pay))

    async def outcome_of(tool: Any, amount: int, to: str) -> Any:
        use = {"name": NAME, "toolUseId": "1", "input": {"amount": amount, "to": to}}
        return [part async for part in tool.stream(use, {})][-1]

    async def stream(amount: int, to: str) -> Any:
        return await outcome_of(plain, amount, to)

    async def stream_an_async_tool(amount: int, to: str) -> Any:
        return await outcome_of(awaited, amount, to)

    def refused(given: Any) -> str:
        result = given.tool_result
        is_error = result["status"] == "error"
        return "".join(block["text"] for block in result["content"]) if is_error else ""

    ways = {"AgentTool.stream": stream, "AgentTool.stream (async)": stream_an_async_tool}
    return Sample(ways, refused)
