"""Hooks model calls and runs, streamed or not."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from typing import Any, Final

from hookbus import HookBlocked

from .._answers import OPENAI
from .._streams import ask_in_parts_async
from .._tools import Gate
from .._vocabulary import Attempt, Once
from ._words import module

_ASKED: Final = (
    "system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs",
    "tracing",
)  # fmt: skip


def hook_models(gate: Gate) -> None:
    cls, words, patches = module("models.interface").Model, gate.vocabulary, gate.patches

    def read(
        word: str, owner: type, stock: Any, model: Any, args: Any, kwargs: Any
    ) -> tuple[Any, ...]:
        options = {**dict(zip(_ASKED, args, strict=False)), **kwargs}

        def body(messages: Any, changed: dict[str, Any]) -> Any:
            given = {**changed, "input": messages}
            return stock(model, *[given.pop(name) for name in _ASKED[: len(args)]], **given)

        attempt = Once(model, word, owner, body)
        return attempt, (model, options.pop("input"), options, None)

    def whole(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def get_response(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            attempt, asked = read("model_call", owner, stock, model, args, kwargs)
            if not patches.is_live or attempt.is_asked:
                return await stock(model, *args, **kwargs)
            return await words.run_async("model_call", attempt, *asked)

        return get_response

    def streamed(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def stream_response(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            attempt, asked = read("model_stream", owner, stock, model, args, kwargs)
            if not patches.is_live or attempt.is_asked:
                return stock(model, *args, **kwargs)
            return ask_in_parts_async(words, attempt, OPENAI, *asked)

        return stream_response

    patches.wrap(cls, "get_response", whole)
    patches.wrap(cls, "stream_response", streamed)
    patches.wrap_function(module("run_internal.model_retry"), "_evaluate_retry", _never_again)


def _never_again(stock: Any) -> Any:
    """Never retry a denial, regardless of the model's retry policy."""

    @functools.wraps(stock)
    async def evaluate(*, error: Exception, **given: Any) -> Any:
        if isinstance(error, HookBlocked):
            return module("retry").RetryDecision(retry=False)
        return await stock(error=error, **given)

    return evaluate


def hook_runs(gate: Gate) -> None:
    words, patches = gate.vocabulary, gate.patches
    end = patches.look_for(module("run_internal.run_steps"), "QueueCompleteSentinel")

    def whole(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def run(runner: Any, starting_agent: Any, input: Any, **options: Any) -> Any:
            attempt = Once(
                runner, "run", owner,
                lambda given: stock(runner, starting_agent, given, **options),
            )  # fmt: skip
            if not patches.is_live or attempt.is_asked:
                return await stock(runner, starting_agent, input, **options)
            return await words.run_async("agent_run", attempt, starting_agent, input)

        return run

    def streamed(stock: Any) -> Any:
        @functools.wraps(stock)
        async def start(*, starting_input: Any, streamed_result: Any, **rest: Any) -> None:
            async def body(given: Any) -> AsyncGenerator[Any, None]:
                await stock(starting_input=given, streamed_result=streamed_result, **rest)
                return
                yield

            agent = rest["starting_agent"]
            try:
                async for _ in words.stream_async("agent_stream", Attempt(body), agent,
                                                  starting_input):  # fmt: skip
                    pass
            finally:
                if not streamed_result.is_complete:  # it was denied: its reader waits
                    streamed_result.is_complete = True
                    streamed_result._event_queue.put_nowait(end())

        return start

    patches.wrap(module("run").AgentRunner, "run", whole)
    patches.wrap_function(module("run_internal.run_loop"), "start_streaming", streamed)
