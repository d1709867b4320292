"""The self-test of the Haystack adapter, which calls a function `Tool`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of, raised_text

SEAMS: Final = """
async haystack.tools.tool:Tool.invoke_async(self, **kwargs)
async haystack_integrations.tools.mcp.mcp_tool:MCPTool.ainvoke(self, **kwargs)
haystack.components.agents.tool_calling:ToolNotFoundException
haystack.components.agents.tool_calling:_make_bounded_invoke_async(tool, args, semaphore,
    tool_call, parent_span)
haystack.components.agents.tool_calling:_make_context_bound_invoke(tool, args, tool_call,
    parent_span)
haystack.components.agents.tool_calling:_resolve_tool_calls(messages_with_tool_calls,
    tools_with_names, *, raise_on_failure)
haystack.tools.tool:Tool.invoke(self, **kwargs)
"""


_PARAMETERS: Final = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
}


def sample(pay: Pay) -> Sample:
    """Make a tool that is invoked with and without `await`."""
    plain, awaited = functions_of(pay)
    error = import_module("haystack.tools.errors").ToolInvocationError
    tools = import_module("haystack.tools")
    tool = tools.Tool(NAME, "Pay.", _PARAMETERS, function=plain, async_function=awaited)

    def invoke(amount: int, to: str) -> Any:
        return tool.invoke(amount=amount, to=to)

    async def invoke_async(amount: int, to: str) -> Any:
        return await tool.invoke_async(amount=amount, to=to)

    def refused(given: Any) -> str:
        return raised_text(given) if isinstance(given, error) else ""

    return Sample({"Tool.invoke": invoke, "Tool.invoke_async": invoke_async}, refused)
