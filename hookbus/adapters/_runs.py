"""Hooks the methods by which a framework's agents are run."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ._arguments import taking
from ._parts import each
from ._vocabulary import Once, Vocabulary


def hook_runs(
    words: Vocabulary, cls: Any, name: str, *, agent: str | None = None, input: str | None = None,
    stream: str | None = None,
) -> None:  # fmt: skip
    """Hook a method that runs an agent, with its overrides in existing and future subclasses. If it
    returns its parts one by one, it is an `agent_stream`, and otherwise an `agent_run`.

    Args:
        words: the vocabulary with the hooks.
        cls: the class.
        name: the method.
        agent: the parameter with the agent, or the attribute of the object that has the method;
            None means that object.
        input: the parameter with the input; None means the first one.
        stream: the parameter that requests a stream, if the method has one.
    """
    words.patches.wrap(cls, name, functools.partial(_hooked, words, name, agent, input, stream))


def _hooked(
    words: Vocabulary, name: str, agent: str | None, input: str | None, stream: str | None,
    owner: type, stock: Any,
) -> Any:  # fmt: skip
    take, is_async = taking(stock, input), inspect.iscoroutinefunction(stock)
    is_stream = inspect.isgeneratorfunction(stock) or inspect.isasyncgenfunction(stock)

    def run(own: Any, /, *args: Any, **kwargs: Any) -> Any:
        task, others, join = take(args, kwargs)

        def body(changed: Any) -> Any:
            by_place, by_name = join(changed, others)
            return stock(own, *by_place, **by_name)

        attempt = Once(own, name, owner, body)
        if not words.patches.is_live or attempt.is_asked:
            return stock(own, *args, **kwargs)
        run_by = own
        if agent is not None:
            run_by = others[agent] if agent in others else getattr(own, agent)
        if is_stream or (stream is not None and others.get(stream)):
            if inspect.isasyncgenfunction(stock):
                return words.stream_async("agent_stream", attempt, run_by, task)
            attempt.body = lambda changed: each(body(changed))
            return words.stream("agent_stream", attempt, run_by, task)
        make = words.run_async if is_async else words.run
        return make("agent_run", attempt, run_by, task)

    if not is_async:
        return functools.wraps(stock)(run)

    @functools.wraps(stock)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        return await run(*args, **kwargs)

    return run_async
