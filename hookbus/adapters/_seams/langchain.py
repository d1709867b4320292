"""The self-test of the LangChain adapter: calls a `StructuredTool`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async langchain.agents.middleware.types:AgentMiddleware.awrap_model_call(self, request, handler)
async langchain_core.language_models.chat_models:BaseChatModel._agenerate_with_cache(self,
    messages, stop, run_manager, **kwargs)
async langchain_core.runnables.base:RunnableBindingBase.abatch(self, inputs, config, **kwargs)
async langchain_core.runnables.fallbacks:RunnableWithFallbacks.abatch(self, inputs, config,
    **kwargs)
async langchain_core.runnables.fallbacks:RunnableWithFallbacks.ainvoke(self, input, config,
    **kwargs)
async langchain_core.runnables.retry:RunnableRetry._abatch(self, inputs, run_manager, config,
    **kwargs)
async langchain_core.tools.base:BaseTool.ainvoke(self, input, config, **kwargs)
async langchain_core.tools.base:BaseTool.arun(self, tool_input, callbacks, *, metadata, config,
    tool_call_id, **kwargs)
async langchain_core.tools.simple:Tool.ainvoke(self, input, config, **kwargs)
async langgraph.prebuilt.tool_node:ToolNode._execute_tool_async(self, request, input_type, config)
langchain.agents.middleware.types:AgentMiddleware.wrap_model_call(self, request, handler)
langchain.agents.structured_output:OutputToolBinding.parse(self, tool_args)
langchain_core.language_models.chat_models:BaseChatModel._astream(self, messages, stop,
    run_manager, **kwargs)
langchain_core.language_models.chat_models:BaseChatModel._generate_with_cache(self, messages,
    stop, run_manager, **kwargs)
langchain_core.language_models.chat_models:BaseChatModel._stream(self, messages, stop,
    run_manager, **kwargs)
langchain_core.runnables.base:RunnableBindingBase.batch(self, inputs, config, **kwargs)
langchain_core.runnables.fallbacks:RunnableWithFallbacks.astream(self, input, config, **kwargs)
langchain_core.runnables.fallbacks:RunnableWithFallbacks.batch(self, inputs, config, **kwargs)
langchain_core.runnables.fallbacks:RunnableWithFallbacks.invoke(self, input, config, **kwargs)
langchain_core.runnables.fallbacks:RunnableWithFallbacks.runnables
langchain_core.runnables.fallbacks:RunnableWithFallbacks.stream(self, input, config, **kwargs)
langchain_core.runnables.retry:RunnableRetry._batch(self, inputs, run_manager, config, **kwargs)
langchain_core.runnables.retry:RunnableRetry._kwargs_retrying
langchain_core.tools.base:BaseTool.run(self, tool_input, callbacks, *, metadata, config,
    tool_call_id, **kwargs)
langgraph.prebuilt.tool_node:ToolNode._execute_tool_sync(self, request, input_type, config)
langgraph.prebuilt.tool_node:ToolNode._inject_tool_args(self, tool_call, tool_runtime, tool)
langgraph.pregel._retry:_should_retry_on(retry_policy, exc)
"""


def sample(pay: Pay) -> Sample:
    """Create a tool that is called with a model's tool call, as an agent would call it."""
    plain, awaited = functions_of(pay)
    tools, messages = (import_module(f"langchain_core.{name}") for name in ("tools", "messages"))
    tool = tools.StructuredTool.from_function(plain, awaited, name=NAME, description="Pay.")

    def call(amount: int, to: str) -> dict[str, Any]:
        arguments = {"amount": amount, "to": to}
        return {"name": NAME, "args": arguments, "id": "1", "type": "tool_call"}

    def run(amount: int, to: str) -> Any:
        return tool.invoke(call(amount, to))

    async def ainvoke(amount: int, to: str) -> Any:
        return await tool.ainvoke(call(amount, to))

    def refused(given: Any) -> str:
        is_error = isinstance(given, messages.ToolMessage) and given.status == "error"
        return str(given.content) if is_error else ""

    return Sample({"BaseTool.run": run, "BaseTool.ainvoke": ainvoke}, refused)
