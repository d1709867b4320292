"""Hooks for Pydantic AI models: streaming and non-streaming requests."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from hookbus import HookBlocked

from ._held_back import is_held_back
from ._streams import Forms, ask_in_parts_async, is_seen_in_parts
from ._vocabulary import Once, Vocabulary


def hook_models(words: Vocabulary) -> None:
    """Route every request to a model through `model_call`. A model that only calls other models,
    such as a fallback, makes no `model_call` itself.
    """
    models = import_module("pydantic_ai.models")
    fallback = import_module("pydantic_ai.models.fallback")
    around = import_module("pydantic_ai.models.wrapper").WrapperModel, fallback.FallbackModel
    with suppress(ImportError):  # older releases check the outcome elsewhere
        chain = import_module("pydantic_ai._fallback").FallbackChain
        words.patches.wrap(chain, "falls_back", _not_of_a_refusal)
    for name, make in (("request", _whole), ("request_stream", _streamed)):
        words.patches.wrap(models.Model, name, functools.partial(make, words, around))


def _not_of_a_refusal(owner: type, stock: Any) -> Any:
    """Prevent a blocked call from being sent to a fallback model."""

    @functools.wraps(stock)
    async def falls_back(chain: Any, failure: Any) -> bool:
        return not isinstance(failure, HookBlocked) and bool(await stock(chain, failure))

    return falls_back


def _options(model_settings: Any, parameters: Any) -> dict[str, Any]:
    return {"model_settings": model_settings, "model_request_parameters": parameters}


def _whole(words: Vocabulary, around: Any, owner: type, stock: Any) -> Any:
    if issubclass(owner, around):
        return stock

    async def request(
        model: Any, messages: Any, model_settings: Any, model_request_parameters: Any
    ) -> Any:
        def body(messages: Any, options: dict[str, Any]) -> Any:
            return stock(model, messages, **options)

        asked = Once(model, "request", owner, body)
        options = _options(model_settings, model_request_parameters)
        if not words.patches.is_live or asked.is_asked:
            return await stock(model, messages, **options)
        return await words.run_async("model_call", asked, model, messages, options, None)

    return request


class _Instead:
    """A placeholder for the events of an answer that was not streamed by the model."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


class _Stream(Once):
    """A streamed request, whose items are events.

    Attributes:
        response: the object from which Pydantic AI reads events; None if the model was not called.
    """

    response: Any = None

    def __init__(self, owner: type, stock: Any, model: Any, context: tuple[Any, ...]) -> None:
        super().__init__(model, "request_stream", owner, self._events)
        self._stock, self._context = stock, context

    async def _events(self, messages: Any, options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        given = options["model_settings"], options["model_request_parameters"]
        async with self._stock(self.of, messages, *given, *self._context) as response:
            self.response = response
            async for event in response:
                yield event

    def whole(self, events: list[Any]) -> Any:
        """Return the response made from the events, including changes by receivers."""
        response, held = self.response.get(), _parts_of(events)
        return response if held == response.parts else replace(response, parts=held)


def _parts_of(events: list[Any]) -> list[Any]:
    parts: dict[int, Any] = {}
    for event in events:
        if event.event_kind == "part_start":
            parts[event.index] = event.part
        elif event.event_kind == "part_delta":
            parts[event.index] = event.delta.apply(parts[event.index])
    return [part for _, part in sorted(parts.items())]


def _streamed(words: Vocabulary, around: Any, owner: type, stock: Any) -> Any:
    if issubclass(owner, around) or owner is import_module("pydantic_ai.models").Model:
        return stock

    @asynccontextmanager
    async def request_stream(
        model: Any, messages: Any, model_settings: Any, model_request_parameters: Any, *context: Any
    ) -> AsyncGenerator[Any, None]:
        asked = _Stream(owner, stock, model, context)
        options = _options(model_settings, model_request_parameters)
        if not words.patches.is_live or asked.is_asked:
            async with stock(model, messages, *options.values(), *context) as response:
                yield response
            return
        forms = Forms(asked.whole, lambda answer: [_Instead(answer)])
        events = ask_in_parts_async(words, asked, forms, model, messages, options, None)
        try:
            yield await _response(words, asked, events, model_request_parameters)
        finally:
            await events.aclose()

    return request_stream


async def _response(words: Vocabulary, asked: _Stream, events: Any, parameters: Any) -> Any:
    """Return the object from which Pydantic AI reads events, after the first event can be passed
    on."""
    begun = [event async for event in _first(events)]
    if begun and isinstance(begun[0], _Instead):
        return _judged(begun[0].answer, parameters)
    if not begun:
        return asked.response
    is_held = is_held_back(words, asked.of, is_async=True)
    if is_held or is_seen_in_parts(words, asked.of):  # the model's own response must not be read
        begun += [event async for event in events]
        return _judged(asked.whole(begun), parameters, begun)
    asked.response._event_iterator = _on(begun, events)
    return asked.response


async def _first(events: Any) -> AsyncGenerator[Any, None]:
    try:
        yield await anext(events)
    except StopAsyncIteration:
        return


async def _on(begun: list[Any], events: Any) -> AsyncGenerator[Any, None]:
    for event in begun:
        yield event
    async for event in events:
        yield event


@functools.cache
def _judged_class() -> Any:
    base: Any = import_module("pydantic_ai.models").StreamedResponse

    class Judged(base):  # type: ignore[misc]
        """A complete response that guards have checked, passed on as a stream."""

        def __init__(self, answer: Any, parameters: Any, events: list[Any]) -> None:
            super().__init__(parameters)
            self.answer, self.events, self.given = answer, events, list[Any]()

        async def _given(self) -> AsyncGenerator[Any, None]:
            for event in self.events:
                if event.event_kind == "part_end":  # it repeats its part
                    event = replace(event, part=_parts_of(self.given)[event.index])
                self.given.append(event)
                yield event

        def __aiter__(self) -> Any:
            if not hasattr(self, "_read"):
                self._read = self._given()
            return self._read

        async def _get_event_iterator(self) -> AsyncGenerator[Any, None]:
            async for event in self:
                yield event

        def get(self) -> Any:
            is_over = len(self.given) == len(self.events)
            return self.answer if is_over else replace(self.answer, parts=_parts_of(self.given))

        async def close_stream(self) -> None:
            """Do nothing: the model has already sent the whole response."""

        usage = property(lambda self: self.answer.usage)
        model_name = property(lambda self: self.answer.model_name or "")
        provider_name = property(lambda self: self.answer.provider_name)
        provider_url = property(lambda self: self.answer.provider_url)
        timestamp = property(lambda self: self.answer.timestamp)

    return Judged


def _judged(answer: Any, parameters: Any, events: list[Any] | None = None) -> Any:
    messages = import_module("pydantic_ai.messages")
    if isinstance(answer, str):
        answer = messages.ModelResponse(parts=[messages.TextPart(answer)])
    if events is None:
        parts = enumerate(answer.parts)
        events = [messages.PartStartEvent(index=index, part=part) for index, part in parts]
        find = import_module("pydantic_ai.models")._get_final_result_event
        found = (find(event, parameters) for event in [*events])
        events += [event for event in [next(filter(None, found), None)] if event is not None]
        ends = (messages.PartEndEvent(index=index, part=part)
                for index, part in enumerate(answer.parts))  # fmt: skip
        events += ends
    judged = _judged_class()(answer, parameters, events)
    final = (event for event in events if event.event_kind == "final_result")
    judged.final_result_event = next(final, None)
    return judged
