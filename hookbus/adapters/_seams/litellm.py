"""The self-test of the LiteLLM adapter: requests a completion from an in-process provider."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from ._frame import Pay, Sample, raised_text

SEAMS: Final = """
async litellm.chat_completions.dispatch:acompletion(model, messages, functions, function_call, n,
    stream, stop, user, tools, tool_choice, parallel_tool_calls, store, **kwargs)
async litellm.main:acompletion(model, messages, functions, function_call, n, stream, stop, user,
    tools, tool_choice, parallel_tool_calls, store, **kwargs)
litellm.chat_completions.dispatch:completion(model, messages, n, stream, stop, user, tools,
    tool_choice, parallel_tool_calls, store, functions, function_call, **kwargs)
litellm.integrations.custom_guardrail:is_guardrail_intervention(e)
litellm.main:completion(model, messages, n, stream, stop, user, tools, tool_choice,
    parallel_tool_calls, store, functions, function_call, **kwargs)
"""


_PROVIDER: Final = "hookbus_self_test"


def sample(pay: Pay) -> Sample:
    """Create a provider that "pays" the person in the message."""
    litellm = import_module("litellm")

    def answer(self: Any, *args: Any, **options: Any) -> Any:
        amount, to = options["messages"][0]["content"], options["messages"][1]["content"]
        message = {"role": "assistant", "content": pay(int(amount), to)}
        return litellm.ModelResponse(choices=[{"message": message, "finish_reason": "stop"}])

    async def answer_async(self: Any, *args: Any, **options: Any) -> Any:
        return answer(self, *args, **options)

    methods = {"completion": answer, "acompletion": answer_async}
    provider = type("SelfTest", (litellm.CustomLLM,), methods)()

    def request(amount: int, to: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": each} for each in (str(amount), to)]
        return {"model": f"{_PROVIDER}/pay", "messages": messages}

    def completion(amount: int, to: str) -> Any:
        with _known(litellm, provider):
            return litellm.completion(**request(amount, to))

    async def acompletion(amount: int, to: str) -> Any:
        with _known(litellm, provider):
            return await litellm.acompletion(**request(amount, to))

    return Sample(
        {"completion": completion, "acompletion": acompletion}, raised_text, hook="model_call",
        argument="messages", when={"model": f"{_PROVIDER}/pay"},
    )  # fmt: skip


@contextmanager
def _known(litellm: Any, provider: Any) -> Iterator[None]:
    """Register the provider with LiteLLM during the `with` block, in addition to existing
    providers."""
    entry = {"provider": _PROVIDER, "custom_handler": provider}
    more = {"custom_provider_map": entry, "_custom_providers": _PROVIDER,
            "provider_list": _PROVIDER}  # fmt: skip
    for name, each in more.items():
        getattr(litellm, name).append(each)
    try:
        yield
    finally:
        for name, each in more.items():
            getattr(litellm, name).remove(each)
