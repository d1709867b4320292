"""The self-test of the AgenticX adapter, which calls a tool of a `ToolExecutor`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample

SEAMS: Final = """
agenticx.core.agent_executor:AgentExecutor._execute_tool_call(self, action, event_log, agent)
agenticx.core.agent_executor:AgentExecutor._get_next_action(self, agent, task, event_log)
agenticx.core.hooks.llm_hooks:execute_after_llm_call_hooks(context, agent_hooks)
agenticx.core.hooks.llm_hooks:execute_before_llm_call_hooks(context, agent_hooks)
agenticx.core.hooks.tool_hooks:execute_after_tool_call_hooks(context, agent_hooks)
agenticx.core.hooks.tool_hooks:execute_before_tool_call_hooks(context, agent_hooks)
agenticx.hooks.registry:HookRegistry.trigger_sync(self, event, *, stop_on_false)
agenticx.tools.executor:ToolExecutor.execute(self, tool, agent_id, task_id, **kwargs)
async agenticx.cli.agent_tools:dispatch_tool_async(name, arguments, session)
async agenticx.hooks.registry:HookRegistry.trigger(self, event, *, stop_on_false)
async agenticx.runtime.hooks:HookRegistry.run_after_model(self, response, session)
async agenticx.runtime.hooks:HookRegistry.run_after_tool_call(self, tool_name, result, session)
async agenticx.runtime.hooks:HookRegistry.run_before_model(self, messages, session)
async agenticx.runtime.hooks:HookRegistry.run_before_tool_call(self, tool_name, arguments,
    session)
async agenticx.runtime.hooks:HookRegistry.run_on_agent_end(self, final_text, session)
async agenticx.runtime.hooks:HookRegistry.run_on_agent_start(self, session, agent_id, user_input)
async agenticx.runtime.hooks:HookRegistry.run_on_compaction(self, compacted_count, summary,
    session)
async agenticx.runtime.meta_tools:dispatch_meta_tool_async(name, arguments, *, team_manager,
    session)
async agenticx.tools.executor:ToolExecutor.aexecute(self, tool, agent_id, task_id, **kwargs)
"""


def sample(pay: Pay) -> Sample:
    """Make a tool that an executor calls with and without `await`."""
    base = import_module("agenticx.tools.base").BaseTool
    executor = import_module("agenticx.tools.executor").ToolExecutor(max_retries=0)

    def run(self: Any, **arguments: Any) -> str:
        return pay(arguments["amount"], arguments["to"])

    async def arun(self: Any, **arguments: Any) -> str:
        return pay(arguments["amount"], arguments["to"])

    cls = type("SelfTest", (base,), {"_run": run, "_arun": arun, "run": run, "arun": arun})
    tool = cls(name=NAME, description="Pay.")

    def execute(amount: int, to: str) -> Any:
        return executor.execute(tool, amount=amount, to=to)

    async def aexecute(amount: int, to: str) -> Any:
        return await executor.aexecute(tool, amount=amount, to=to)

    def refused(given: Any) -> str:
        return "" if given.success else str(given.error)

    ways = {"ToolExecutor.execute": execute, "ToolExecutor.aexecute": aexecute}
    return Sample(ways, refused, awaits=False)
