"""Hooks the methods that run a framework's agents."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Generator
from typing import Any

from .._ground.signatures import signature_of
from ..exceptions import HookError
from ._arguments import taking
from ._parts import each, each_async
from ._vocabulary import Once, Vocabulary


def hook_runs(
    words: Vocabulary, cls: Any, name: str, *, agent: str | None = None, input: str | None = None,
    stream: str | bool | None = None,
) -> None:  # fmt: skip
    """Hook a method that runs an agent, including overrides in existing and future subclasses. A
    method that yields the parts of its result is hooked as `agent_stream`, any other method as
    `agent_run`.

    Args:
        words: the vocabulary with the hooks.
        cls: the class.
        name: the method.
        agent: the name of the parameter with the agent, or of the attribute with the agent of the
            method's object; None means that this object is the agent.
        input: the name of the parameter with the input; None means the first parameter.
        stream: the name of the parameter that requests a stream, or a bool that states whether the
            method always streams.

    Raises:
        HookError: if the method does not fit `stream`.
    """
    found = getattr(cls, name, None)
    problem = _problem(cls, found, stream) if inspect.isfunction(found) else ""
    if problem:
        raise HookError(problem)
    words.patches.wrap(cls, name, functools.partial(_hooked, words, name, agent, input, stream))


def _problem(owner: type, method: Any, stream: str | bool | None) -> str:
    """Return the reason why a method does not match `stream`, or an empty string."""
    where = f"{owner.__qualname__}.{method.__name__}"
    if stream is False and _is_generator(method):
        return f"stream=False, but {where} yields its parts"
    if stream is True and not _is_generator(method) and not inspect.iscoroutinefunction(method):
        return (
            f"stream=True, but {where} is neither a generator nor async, so it does not say how it "
            "returns its parts: hook it with wrap()"
        )
    parameters = signature_of(method).parameters
    takes_more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if isinstance(stream, str) and stream not in parameters and not takes_more:
        return f"stream={stream!r}, but {where} has no such parameter"
    return ""


def _is_generator(method: Any) -> bool:
    return inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method)


def _hooked(
    words: Vocabulary, name: str, agent: str | None, input: str | None, stream: str | bool | None,
    owner: type, stock: Any,
) -> Any:  # fmt: skip
    take, is_async = taking(stock, input), inspect.iscoroutinefunction(stock)
    problem, is_always = _problem(owner, stock, stream), _is_generator(stock) or stream is True
    flag = stream if isinstance(stream, str) else None
    default = None if flag is None else _default_of(stock, flag)

    def run(own: Any, /, *args: Any, **kwargs: Any) -> Any:
        task, others, join = take(args, kwargs)

        def body(changed: Any) -> Any:
            by_place, by_name = join(changed, others)
            return stock(own, *by_place, **by_name)

        attempt = Once(own, name, owner, body)
        if not words.patches.is_live or attempt.is_asked:
            return stock(own, *args, **kwargs)
        if problem:
            raise HookError(problem)
        run_by = own
        if agent is not None:
            run_by = others[agent] if agent in others else getattr(own, agent)
        is_streamed = is_always if flag is None else is_always or bool(others.get(flag, default))
        if not is_streamed:
            make = words.run_async if is_async else words.run
            return make("agent_run", attempt, run_by, task)
        if is_async or inspect.isasyncgenfunction(stock):
            if is_async:
                attempt.body = lambda changed: each_async(body(changed))
            return words.stream_async("agent_stream", attempt, run_by, task)
        attempt.body = lambda changed: _parts_of(f"{owner.__qualname__}.{name}", body(changed))
        return words.stream("agent_stream", attempt, run_by, task)

    if not is_async:
        return functools.wraps(stock)(run)

    @functools.wraps(stock)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        found = run(*args, **kwargs)
        return await found if inspect.isawaitable(found) else found

    return run_async


def _default_of(method: Any, name: str) -> Any:
    parameter = signature_of(method).parameters.get(name)
    return None if parameter is None or parameter.default is parameter.empty else parameter.default


def _parts_of(where: str, items: Any) -> Generator[Any, Any, None]:
    if hasattr(items, "__aiter__") and not hasattr(items, "__iter__"):
        raise HookError(f"{where} is not async, but its parts are: hook it with wrap()")
    return each(items)
