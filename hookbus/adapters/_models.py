"""Hooks the methods of a framework that call models."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from hookbus import HookError

from ._arguments import taking
from ._asides import Aside, run_judged, run_judged_async
from ._streams import Forms, ask_in_parts, ask_in_parts_async
from ._vocabulary import Once, Vocabulary


def hook_models(
    vocabulary: Vocabulary, cls: Any, words: dict[str, str], forms: Forms | None = None, *,
    messages: str | None = None, is_async: bool | None = None, aside: type[Aside] | None = None,
) -> None:  # fmt: skip
    """Hook methods of a framework's models, including overrides in existing and future subclasses.

    All arguments of a request except the messages are the options, by name.

    Args:
        vocabulary: the vocabulary with the hooks.
        cls: the class; the methods may be defined only in subclasses.
        words: the hook of each method, such as `{"generate": "model_call"}`. A method hooked as
            `model_stream` returns items, or a coroutine that returns them. Its request is also a
            `model_call`.
        forms: converts a streamed answer between its parts and the whole answer.
        messages: the parameter with the messages; None means the first parameter.
        is_async: whether the methods are async. Needed if their functions do not show it: a plain
            function may return an async generator.
        aside: holds back the framework's own reports of an answer until the guards have returned.
    """
    if forms is None and "model_stream" in words.values():
        raise HookError("a model that streams its answer needs forms=")
    for name, word in words.items():
        make = functools.partial(
            _seam, vocabulary, name, word, forms, messages, is_async, aside
        )
        vocabulary.patches.wrap(cls, name, make)


def _seam(
    vocabulary: Vocabulary, name: str, word: str, forms: Forms | None, messages: str | None,
    declared: bool | None, aside: type[Aside] | None, owner: type, stock: Any,
) -> Any:  # fmt: skip
    seen = inspect.iscoroutinefunction(stock) or inspect.isasyncgenfunction(stock)
    is_async = seen if declared is None else declared
    is_stream, take = word == "model_stream", taking(stock, messages)

    @functools.wraps(stock)
    def seam(model: Any, /, *args: Any, **kwargs: Any) -> Any:
        asked, options, join = take(args, kwargs)

        def body(messages: Any, options: dict[str, Any]) -> Any:
            by_place, by_name = join(messages, options)
            return stock(model, *by_place, **by_name)

        attempt = Once(model, name, owner, body)
        if not vocabulary.patches.is_live or attempt.is_asked:
            return stock(model, *args, **kwargs)
        hook_args = model, asked, options, None
        attempt.aside = None if aside is None else aside(model)
        if forms is not None and is_stream:
            ask = ask_in_parts_async if is_async else ask_in_parts
            return ask(vocabulary, attempt, forms, *hook_args)
        run = run_judged_async if is_async else run_judged
        return run(vocabulary, attempt, attempt.aside, *hook_args)

    found: Any = seam
    if inspect.iscoroutinefunction(stock):

        @functools.wraps(stock)
        async def seam_async(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            answer = seam(model, *args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        found = seam_async
    found.__hookable__ = vocabulary.hookable(word, is_async=is_async)
    return found
