"""Hooks the methods by which a framework's models are called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from hookbus import HookError

from .._ground.signatures import signature_of
from ._asides import Aside, run_judged, run_judged_async
from ._streams import Forms, ask_in_parts, ask_in_parts_async
from ._vocabulary import Once, Vocabulary


def hook_models(
    vocabulary: Vocabulary, cls: Any, words: dict[str, str], forms: Forms | None = None, *,
    is_async: bool | None = None, aside: type[Aside] | None = None,
) -> None:  # fmt: skip
    """Hook methods of a framework's models, with their overrides in existing and future subclasses.

    Each takes the messages first. Its other arguments are the options, by name.

    Args:
        vocabulary: the vocabulary with the hooks.
        cls: the class; it is enough if subclasses have the methods.
        words: the hook of each method, such as `{"generate": "model_call"}`. A method with
            `model_stream` returns items, or a coroutine of them, and is a `model_call`, too.
        forms: the forms of a streamed answer in parts and as a whole.
        is_async: whether they are async, if the functions do not show it: a plain function may
            return an async generator.
        aside: holds back the framework's own reports of an answer until the guards have returned.
    """
    if forms is None and "model_stream" in words.values():
        raise HookError("a model that answers in parts needs forms=")
    for name, word in words.items():
        make = functools.partial(_seam, vocabulary, name, word, forms, is_async, aside)
        vocabulary.patches.wrap(cls, name, make)


def _seam(
    vocabulary: Vocabulary, name: str, word: str, forms: Forms | None, declared: bool | None,
    aside: type[Aside] | None, owner: type, stock: Any,
) -> Any:  # fmt: skip
    seen = inspect.iscoroutinefunction(stock) or inspect.isasyncgenfunction(stock)
    is_async = seen if declared is None else declared
    is_stream, named = word == "model_stream", first_of(stock)

    @functools.wraps(stock)
    def seam(model: Any, /, *args: Any, **kwargs: Any) -> Any:
        def body(messages: Any, options: dict[str, Any]) -> Any:
            return stock(model, messages, *rest, **options)

        attempt = Once(model, name, owner, body)
        if not vocabulary.patches.is_live or attempt.is_asked:
            return stock(model, *args, **kwargs)
        messages, rest, options = named(args, kwargs)
        told = model, messages, options, None
        attempt.aside = None if aside is None else aside(model)
        if forms is not None and is_stream:
            ask = ask_in_parts_async if is_async else ask_in_parts
            return ask(vocabulary, attempt, forms, *told)
        run = run_judged_async if is_async else run_judged
        return run(vocabulary, attempt, attempt.aside, *told)

    found: Any = seam
    if inspect.iscoroutinefunction(stock):

        @functools.wraps(stock)
        async def seam_async(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            answer = seam(model, *args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        found = seam_async
    found.__hookable__ = vocabulary.hookable(word, is_async=is_async)
    return found


def first_of(stock: Any) -> Callable[[Any, Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return a function that takes the first argument, such as the messages, out of a call, and
    names the others as the method does."""
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [each.name for each in signature_of(stock).parameters.values()
             if each.kind is plain]  # fmt: skip
    first = names[1] if names[1:] else "messages"

    def split(args: Any, kwargs: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        if not args:
            options = dict(kwargs)
            return options.pop(first, None), (), options
        if len(args) < len(names):
            return args[0], (), {**dict(zip(names[2:], args[1:], strict=False)), **kwargs}
        return args[0], args[1:], kwargs

    return split
