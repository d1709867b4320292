"""The seam that is made of the methods by which a framework's models are asked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any

from ._vocabulary import Once, Vocabulary


def hook_models(
    vocabulary: Vocabulary, cls: Any, words: dict[str, str], *, is_async: bool | None = None
) -> None:
    """Have methods of a framework's models come through hooks, with their overrides in subclasses,
    those that there are and those that will be.

    Each takes the messages first. What else it is called with are the options, by name.

    Args:
        vocabulary: which has the hooks.
        cls: the class; it is enough that subclasses have the methods.
        words: the hook of each method, such as `{"generate": "model_call"}`. One of `model_stream`
            gives items, or a coroutine of what gives them.
        is_async: whether they are, where that cannot be seen of each: a plain function may return
            an async generator.
    """
    for name, word in words.items():
        make = functools.partial(_seam, vocabulary, name, word, is_async)
        vocabulary.patches.wrap(cls, name, make)


def _seam(
    vocabulary: Vocabulary, name: str, word: str, declared: bool | None, owner: type, stock: Any
) -> Any:
    seen = inspect.iscoroutinefunction(stock) or inspect.isasyncgenfunction(stock)
    is_async = seen if declared is None else declared
    is_stream, named = word == "model_stream", first_of(stock)

    @functools.wraps(stock)
    def seam(model: Any, /, *args: Any, **kwargs: Any) -> Any:
        def body(messages: Any, options: dict[str, Any]) -> Any:
            answer = stock(model, messages, *rest, **options)
            return _items(answer) if is_async and is_stream else answer

        attempt = Once(model, name, owner, body)
        if not vocabulary.patches.is_live or attempt.is_asked:
            return stock(model, *args, **kwargs)
        messages, rest, options = named(args, kwargs)
        make = _MAKERS[is_stream, is_async]
        return make(vocabulary, word, attempt, model, messages, options, None)

    found: Any = seam
    if inspect.iscoroutinefunction(stock):

        @functools.wraps(stock)
        async def seam_async(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            answer = seam(model, *args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        found = seam_async
    found.__hookable__ = vocabulary.hookable(word, is_async=is_async)
    return found


_MAKERS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): Vocabulary.run,
    (False, True): Vocabulary.run_async,
    (True, False): Vocabulary.stream,
    (True, True): Vocabulary.stream_async,
}
"""By whether it gives items, and whether it is async."""


async def _items(answer: Any) -> AsyncGenerator[Any, None]:
    async for item in await answer if inspect.isawaitable(answer) else answer:
        yield item


def first_of(stock: Any) -> Callable[[Any, Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return what takes the first argument out of a call of a method, such as the messages, and
    names the others where the method names them."""
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [each.name for each in inspect.signature(stock).parameters.values()
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
