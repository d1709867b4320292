"""The self-test of the Bub adapter, which calls a tool of a `ToolExecutor`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async bub.hooks.interception:AgentHooks.after_llm_call(self, request, result, state)
async bub.hooks.interception:AgentHooks.after_tool_call(self, call, result, state)
async bub.hooks.interception:AgentHooks.before_llm_call(self, request, state)
async bub.hooks.interception:AgentHooks.before_tool_call(self, call, state)
async bub.hooks.runtime:HookRuntime.call_first(self, hook_name, **kwargs)
async bub.hooks.runtime:HookRuntime.call_many(self, hook_name, **kwargs)
async bub.hooks.runtime:HookRuntime.notify_error(self, *, stage, error, message)
async bub.tools:ToolExecutor._invoke_normalized(self, tool_obj, call, context)
async bub.tools:ToolExecutor._trace_tool_response(self, tool, arguments, context, call_id)
bub.hooks.interception:AgentHooks.__init__(self, runtime)
bub.hooks.runtime:HookRuntime.__init__(self, plugin_manager)
bub.hooks.runtime:HookRuntime._invoke_impl_sync(self, *, hook_name, impl, call_kwargs, kwargs)
bub.hooks.runtime:HookRuntime.call_first_sync(self, hook_name, **kwargs)
bub.hooks.runtime:HookRuntime.call_many_sync(self, hook_name, **kwargs)
bub.hooks.runtime:HookRuntime.notify_error_sync(self, *, stage, error, message)
"""


def sample(pay: Pay) -> Sample:
    """Make tools that an executor calls."""
    tools = import_module("bub.tools")
    plain, awaited = (tools.Tool(name=NAME, handler=each) for each in functions_of(pay))

    async def outcome_of(tool: Any, amount: int, to: str) -> Any:
        calls = [(tool, {"amount": amount, "to": to})]
        return await tools.ToolExecutor().execute_async(calls)

    async def execute(amount: int, to: str) -> Any:
        return await outcome_of(plain, amount, to)

    async def execute_an_async_tool(amount: int, to: str) -> Any:
        return await outcome_of(awaited, amount, to)

    def refused(given: Any) -> str:
        return str(given.error.message)

    ways = {
        "ToolExecutor.execute_async": execute,
        "ToolExecutor.execute_async (async)": execute_an_async_tool,
    }
    return Sample(ways, refused)
