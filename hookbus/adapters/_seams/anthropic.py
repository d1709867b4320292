"""The self-test of the Anthropic adapter: calls a sync and an async function tool."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
anthropic.lib.tools._beta_functions:BetaBuiltinFunctionTool.call(self, input)
anthropic.lib.tools._beta_functions:BetaFunctionTool.call(self, input)
anthropic.lib.tools._beta_runner:BaseSyncToolRunner._generate_tool_call_response(self)
anthropic.lib.tools._beta_runner:BaseSyncToolRunner._run_tool(self, tool, tool_use)
anthropic.lib.tools._toolsets._runnable:BetaRunnableToolset.call(self, context, name, input)
async anthropic.lib.tools._beta_functions:BetaAsyncBuiltinFunctionTool.call(self, input)
async anthropic.lib.tools._beta_functions:BetaAsyncFunctionTool.call(self, input)
async anthropic.lib.tools._beta_runner:BaseAsyncToolRunner._generate_tool_call_response(self)
async anthropic.lib.tools._beta_runner:BaseAsyncToolRunner._run_tool(self, tool, tool_use)
async anthropic.lib.tools._toolsets._runnable:BetaAsyncRunnableToolset.call(self, context, name,
    input)
"""


def sample(pay: Pay) -> Sample:
    """Create a sync and an async tool that a tool runner calls."""
    tools = import_module("anthropic.lib.tools")
    plain, awaited = functions_of(pay)
    tool, async_tool = tools.beta_tool(plain, name=NAME), tools.beta_async_tool(awaited, name=NAME)

    def call(amount: int, to: str) -> Any:
        return tool.call({"amount": amount, "to": to})

    async def call_async(amount: int, to: str) -> Any:
        return await async_tool.call({"amount": amount, "to": to})

    def refused(given: Any) -> str:
        return given.content if isinstance(given, tools.ToolError) else ""

    ways = {"BetaFunctionTool.call": call, "BetaAsyncFunctionTool.call": call_async}
    return Sample(ways, refused)
