"""The self-test of the Semantic Kernel adapter, which calls a function of a plugin."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of, raised_text

SEAMS: Final = """
async semantic_kernel.connectors.ai.chat_completion_client_base:
    ChatCompletionClientBase._inner_get_chat_message_contents(self, chat_history, settings)
async semantic_kernel.functions.kernel_function:KernelFunction._invoke_internal(self, context)
async semantic_kernel.functions.kernel_function:KernelFunction._invoke_internal_stream(self,
    context)
async semantic_kernel.kernel:Kernel.invoke(self, function, arguments, function_name, plugin_name,
    metadata, **kwargs)
async semantic_kernel.kernel:Kernel.invoke_function_call(self, function_call, chat_history, *,
    arguments, function_behavior)
semantic_kernel.connectors.ai.chat_completion_client_base:
    ChatCompletionClientBase._inner_get_streaming_chat_message_contents(self, chat_history,
    settings)
"""


def sample(pay: Pay) -> Sample:
    """Create a kernel whose function is invoked by a program and by a model."""
    functions, contents = (
        import_module(f"semantic_kernel.{name}") for name in ("functions", "contents")
    )
    kernel = import_module("semantic_kernel").Kernel()
    function = functions.kernel_function(functions_of(pay)[1], name=NAME, description="Pay.")
    kernel.add_plugin(functions.KernelPlugin("hookbus", functions=[function]))

    async def invoke(amount: int, to: str) -> Any:
        return await kernel.invoke(
            function_name=NAME, plugin_name="hookbus", amount=amount, to=to
        )

    async def invoke_function_call(amount: int, to: str) -> Any:
        arguments, history = json.dumps({"amount": amount, "to": to}), contents.ChatHistory()
        call = contents.FunctionCallContent(id="1", name=f"hookbus-{NAME}", arguments=arguments)
        await kernel.invoke_function_call(call, history)
        return [str(item.result) for message in history.messages for item in message.items]

    def refused(given: Any) -> str:
        return "".join(given) if isinstance(given, list) else raised_text(given)

    ways = {
        "Kernel.invoke": invoke, "Kernel.invoke_function_call": invoke_function_call,
    }  # fmt: skip
    return Sample(ways, refused)
