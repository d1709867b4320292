"""The self-test of the LlamaIndex adapter, which calls a `FunctionTool`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
async llama_index.core.agent.workflow.base_agent:BaseWorkflowAgent.call_tool(self, ctx, ev)
async llama_index.core.agent.workflow.multi_agent_workflow:AgentWorkflow.call_tool(self, ctx, ev)
async llama_index.core.base.llms.base:BaseLLM.achat(self, messages, **kwargs)
async llama_index.core.base.llms.base:BaseLLM.acomplete(self, prompt, **kwargs)
async llama_index.core.base.llms.base:BaseLLM.astream_chat(self, messages, **kwargs)
async llama_index.core.base.llms.base:BaseLLM.astream_complete(self, prompt, **kwargs)
async llama_index.core.tools.types:AsyncBaseTool.acall(self, input)
async llama_index.core.tools.types:BaseToolAsyncAdapter.acall(self, input)
llama_index.core.agent.workflow:AgentWorkflow
llama_index.core.agent.workflow:BaseWorkflowAgent
llama_index.core.base.llms.base:BaseLLM.chat(self, messages, **kwargs)
llama_index.core.base.llms.base:BaseLLM.complete(self, prompt, **kwargs)
llama_index.core.base.llms.base:BaseLLM.stream_chat(self, messages, **kwargs)
llama_index.core.base.llms.base:BaseLLM.stream_complete(self, prompt, **kwargs)
llama_index.core.callbacks.base:CallbackManager.on_event_end(self, event_type, payload, event_id,
    **kwargs)
llama_index.core.tools.types:AsyncBaseTool.call(self, input)
llama_index.core.tools.types:BaseTool.__call__(self, input)
llama_index.core.tools.types:BaseToolAsyncAdapter.call(self, input)
llama_index_instrumentation.dispatcher:Dispatcher.event(self, event, **kwargs)
llama_index_instrumentation.dispatcher:Dispatcher.span_exit(self, id_, bound_args, instance,
    result, **kwargs)
"""


def sample(pay: Pay) -> Sample:
    """Make a tool that is called with and without `await`."""
    plain, awaited = functions_of(pay)
    tools = import_module("llama_index.core.tools")
    tool = tools.FunctionTool.from_defaults(plain, async_fn=awaited, name=NAME)

    def call(amount: int, to: str) -> Any:
        return tool.call(amount=amount, to=to)

    async def acall(amount: int, to: str) -> Any:
        return await tool.acall(amount=amount, to=to)

    def refused(given: Any) -> str:
        is_error = isinstance(given, tools.ToolOutput) and given.is_error
        return str(given.content) if is_error else ""

    return Sample({"AsyncBaseTool.call": call, "AsyncBaseTool.acall": acall}, refused)
