"""Keeps `with_retry`, `with_fallbacks` and LangGraph's retry policies from repeating a blocked
call.

A program that lists `HookBlocked` among the exceptions to handle still handles it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import aclosing, suppress
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

from hookbus import HookBlocked

from ._langchain_middleware import Refusal, hiding_refusals, showing_refusals
from ._patches import Patches


def refuse_once(patches: Patches) -> None:
    """Make `HookBlocked` stop retries and fallbacks, unless the program lists it as an exception to
    handle.
    """
    base = import_module("langchain_core.runnables.base").RunnableBindingBase
    retry = import_module("langchain_core.runnables.retry").RunnableRetry
    patches.look_for(retry, "_kwargs_retrying")
    patches.replace(retry, "_kwargs_retrying", property(_retrying(retry._kwargs_retrying.fget)))
    for name in ("batch", "abatch"):  # one input may be denied, and another retried
        patches.replace(base, name, _of_a_retry(retry, patches.look_for(base, name)))
        patches.replace(retry, f"_{name}", _shown(patches.look_for(retry, f"_{name}")))
    fallbacks = import_module("langchain_core.runnables.fallbacks").RunnableWithFallbacks
    patches.look_for(fallbacks, "runnables")
    patches.replace(fallbacks, "runnables", property(_refusing(fallbacks.runnables.fget)))
    for name in ("invoke", "ainvoke", "batch", "abatch"):
        patches.replace(fallbacks, name, _shown(patches.look_for(fallbacks, name)))
    patches.replace(fallbacks, "stream", _shown_in_parts(fallbacks.stream))
    patches.replace(fallbacks, "astream", _shown_in_parts_async(fallbacks.astream))
    with suppress(ImportError):  # it is a separate package
        policies = import_module("langgraph.pregel._retry")
        patches.wrap_function(policies, "_should_retry_on", _by_policy)


def _is_named(kinds: Any) -> bool:
    """Return whether a program lists `HookBlocked` among the exceptions to handle."""
    several = kinds if isinstance(kinds, (tuple, list)) else (kinds,)
    return any(isinstance(each, type) and issubclass(each, HookBlocked) for each in several)


# -- retries ---------------------------------------------------------------------------------------


def _retrying(stock: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    def _kwargs_retrying(retry: Any) -> dict[str, Any]:
        options = stock(retry)
        if not _is_named(retry.retry_exception_types):
            tenacity = import_module("tenacity")
            wanted = options.get("retry", tenacity.retry_if_exception_type())
            other = tenacity.retry_if_not_exception_type((HookBlocked, Refusal))
            options["retry"] = wanted & other
        return options

    return _kwargs_retrying


def _of_a_retry(retry: type, stock: Any) -> Any:
    """Prevent denied inputs of a batch from being retried like failed inputs."""
    hidden = _hidden(stock)

    @functools.wraps(stock)
    def batch(of: Any, *args: Any, **kwargs: Any) -> Any:
        is_hidden = isinstance(of, retry) and not _is_named(vars(of)["retry_exception_types"])
        return (hidden if is_hidden else stock)(of, *args, **kwargs)

    @functools.wraps(stock)
    async def abatch(*args: Any, **kwargs: Any) -> Any:
        return await batch(*args, **kwargs)

    return abatch if iscoroutinefunction(stock) else batch


def _by_policy(stock: Any) -> Any:
    @functools.wraps(stock)
    def _should_retry_on(retry_policy: Any, exc: Exception) -> bool:
        is_refusal = isinstance(exc, HookBlocked) and not _is_named(retry_policy.retry_on)
        return not is_refusal and bool(stock(retry_policy, exc))

    return _should_retry_on


# -- fallbacks -------------------------------------------------------------------------------------


def _refusing(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def runnables(fallbacks: Any) -> Any:
        is_named = _is_named(fallbacks.exceptions_to_handle)
        return stock(fallbacks) if is_named else map(_Tried, stock(fallbacks))

    return runnables


class _Tried:
    """A view of a runnable for `with_fallbacks`, which hides denials so that no fallback runs for
    them."""

    def __init__(self, runnable: Any) -> None:
        for name in ("invoke", "ainvoke", "batch", "abatch"):
            setattr(self, name, _hidden(getattr(runnable, name)))
        self._runnable = runnable

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        with hiding_refusals():
            yield from self._runnable.stream(*args, **kwargs)

    async def astream(self, *args: Any, **kwargs: Any) -> Any:
        with hiding_refusals():
            async for part in self._runnable.astream(*args, **kwargs):
                yield part


def _shown_in_parts(stock: Any) -> Any:
    @functools.wraps(stock)
    def stream(*args: Any, **kwargs: Any) -> Any:
        with showing_refusals():
            yield from stock(*args, **kwargs)

    return stream


def _shown_in_parts_async(stock: Any) -> Any:
    @functools.wraps(stock)
    async def astream(*args: Any, **kwargs: Any) -> Any:
        with showing_refusals():
            async with aclosing(stock(*args, **kwargs)) as parts:
                async for part in parts:
                    yield part

    return astream


# -- the lists of answers of a batch, including refusals -------------------------------------------


def _hidden(stock: Any) -> Any:
    def hide(answer: Any) -> Any:
        return Refusal(answer) if isinstance(answer, HookBlocked) else answer

    return _translated(stock, hiding_refusals, hide)


def _shown(stock: Any) -> Any:
    def show(answer: Any) -> Any:
        return answer.blocked if isinstance(answer, Refusal) else answer

    return _translated(stock, showing_refusals, show)


def _translated(stock: Any, translating: Any, translate: Callable[[Any], Any]) -> Any:
    def each(answer: Any) -> Any:
        return [*map(translate, answer)] if isinstance(answer, list) else answer

    if iscoroutinefunction(stock):

        @functools.wraps(stock)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            with translating():
                return each(await stock(*args, **kwargs))

        return run_async

    @functools.wraps(stock)
    def run(*args: Any, **kwargs: Any) -> Any:
        with translating():
            return each(stock(*args, **kwargs))

    return run
