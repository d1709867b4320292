"""Hooks LangChain's chat models: whole requests, streamed requests, and the callbacks about
both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from importlib import import_module
from inspect import isawaitable
from operator import add
from typing import Any

from ._held_back import Kept, is_held_back
from ._own_hooks import View
from ._streams import Forms, ask_in_parts, ask_in_parts_async, give_items, give_items_async
from ._vocabulary import Once, Vocabulary


def hook_models(words: Vocabulary) -> None:
    """Run every request to a chat model through `model_call`: `invoke`, `stream`, both versions of
    the event API, and the callbacks.
    """
    cls, patches = import_module("langchain_core.language_models").BaseChatModel, words.patches
    whole = functools.partial(_whole, words)
    patches.wrap(cls, "_generate_with_cache", whole)
    patches.wrap(cls, "_agenerate_with_cache", whole)
    for names, forms in ((("_stream", "_astream"), Forms(_message, _chunks)),
                         (_NATIVE, Forms(_message_of_events, _events))):  # fmt: skip
        for name in names:
            make = functools.partial(_streamed, words, forms, name)
            patches.wrap(cls, name, make, is_optional=names is _NATIVE)


_NATIVE = "_stream_chat_model_events", "_astream_chat_model_events"
"""Methods of models that themselves yield events of the newer kind."""


# -- whole -----------------------------------------------------------------------------------------


class _Manager(View):
    """A callback manager that holds back the reports about an answer until the guards return.

    Attributes:
        reports: the reports that are held back.
    """

    def __init__(self, behind: Any, reports: list[Callable[[], Any]] | None = None) -> None:
        super().__init__(behind, reports=[] if reports is None else reports)

    def get_sync(self) -> _Manager:
        return _Manager(self.__dict__["_behind"].get_sync(), self.reports)

    def _keep(self, name: str, *args: Any, **kwargs: Any) -> None:
        report = getattr(self.__dict__["_behind"], name)
        self.reports.append(functools.partial(report, *args, **kwargs))

    def on_llm_new_token(self, *args: Any, **kwargs: Any) -> Any:
        return self._keep("on_llm_new_token", *args, **kwargs)

    def on_stream_event(self, *args: Any, **kwargs: Any) -> Any:
        return self._keep("on_stream_event", *args, **kwargs)


class _AsyncManager(_Manager):
    async def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
        self._keep("on_llm_new_token", *args, **kwargs)

    async def on_stream_event(self, *args: Any, **kwargs: Any) -> None:
        self._keep("on_stream_event", *args, **kwargs)


class _Answer(Once):
    """A request with a whole answer. Receivers see the message, and LangChain gets the
    `ChatResult`. Callbacks run after all receivers that can change or block the answer."""

    def __init__(self, words: Vocabulary, owner: type, stock: Any, model: Any, manager: Any,
                 *, is_async: bool) -> None:  # fmt: skip
        super().__init__(model, "_generate_with_cache", owner, self._asked)
        if is_async:
            self.body = self._asked_async
        if manager is not None and is_held_back(words, model, is_async=True):
            manager = (_AsyncManager if is_async else _Manager)(manager)
        self._ask = functools.partial(stock, model)
        self._manager: Any = manager
        self._raw, self._kept = None, Kept(None)

    def _asked(self, messages: Any, options: dict[str, Any]) -> Any:
        self._forget()
        return self._shown(self._ask(messages, run_manager=self._manager, **options))

    async def _asked_async(self, messages: Any, options: dict[str, Any]) -> Any:
        self._forget()
        return self._shown(await self._ask(messages, run_manager=self._manager, **options))

    def _forget(self) -> None:
        if isinstance(self._manager, _Manager):
            self._manager.reports.clear()

    def _shown(self, raw: Any) -> Any:
        self._raw, self._kept = raw, Kept(raw.generations[0].message)
        return self._kept.value

    def reports(self, message: Any) -> list[Callable[[], Any]]:
        """Return the reports that callbacks have yet to get about the final answer."""
        is_kept = isinstance(self._manager, _Manager) and self._kept.is_still(message)
        return self._manager.reports if is_kept else []

    def result(self, message: Any) -> Any:
        """Return the result for LangChain."""
        if self._raw is not None and message is self._kept.value:
            return self._raw
        if isinstance(message, str):
            message = import_module("langchain_core.messages").AIMessage(message)
        outputs = import_module("langchain_core.outputs")
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=message)])


def _whole(words: Vocabulary, owner: type, stock: Any) -> Any:
    if stock.__name__ == "_generate_with_cache":

        @functools.wraps(stock)
        def _generate_with_cache(
            model: Any, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
        ) -> Any:
            answer = _Answer(words, owner, stock, model, run_manager, is_async=False)
            all_options = {"stop": stop, **options}
            if not words.patches.is_live or answer.is_asked:
                return stock(model, messages, run_manager=run_manager, **all_options)
            message = words.run("model_call", answer, model, messages, all_options, None)
            for report in answer.reports(message):
                report()
            return answer.result(message)

        return _generate_with_cache

    @functools.wraps(stock)
    async def _agenerate_with_cache(
        model: Any, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> Any:
        answer = _Answer(words, owner, stock, model, run_manager, is_async=True)
        all_options = {"stop": stop, **options}
        if not words.patches.is_live or answer.is_asked:
            return await stock(model, messages, run_manager=run_manager, **all_options)
        message = await words.run_async("model_call", answer, model, messages, all_options, None)
        for report in answer.reports(message):
            if isawaitable(found := report()):
                await found
        return answer.result(message)

    return _agenerate_with_cache


# -- streamed --------------------------------------------------------------------------------------


class _Streamed(Once):
    """A request with a streamed answer. Receivers see messages, and LangChain gets the chunks of
    these messages.

    Callbacks run for the parts that receivers return, because the model itself is called without
    callbacks.
    """

    def __init__(self, owner: type, stock: Any, model: Any) -> None:
        super().__init__(model, stock.__name__, owner, self._messages)
        is_async = stock.__name__.startswith("_a")
        self._stock, self._chunks = stock, dict[int, Any]()
        self.body = self._messages_async if is_async else self._messages

    def _messages(self, messages: Any, options: dict[str, Any]) -> Generator[Any, Any, None]:
        for chunk in self._stock(self.of, messages, run_manager=None, **options):
            yield self._shown(chunk)

    async def _messages_async(self, messages: Any, options: dict[str, Any]) -> Any:
        async for chunk in self._stock(self.of, messages, run_manager=None, **options):
            yield self._shown(chunk)

    def _shown(self, chunk: Any) -> Any:
        message = getattr(chunk, "message", chunk)  # an event stays unchanged
        if message is not chunk:
            self._chunks[id(message)] = chunk
        return message

    def chunk(self, message: Any) -> Any:
        """Return the chunk that LangChain gets for a message."""
        if isinstance(message, dict):
            return message
        held = self._chunks.pop(id(message), None)
        outputs = import_module("langchain_core.outputs")
        return outputs.ChatGenerationChunk(message=message) if held is None else held


def _streamed(words: Vocabulary, forms: Forms, name: str, owner: type, stock: Any) -> Any:
    if owner is import_module("langchain_core.language_models").BaseChatModel:
        return stock  # it calls `_stream`, or raises that there is no stream

    def split(args: Any, options: dict[str, Any]) -> dict[str, Any]:
        named = dict(zip(("stop", "run_manager"), args, strict=False)) | options
        named.pop("run_manager", None)
        return named

    if name.startswith("_a"):

        @functools.wraps(stock)
        async def stream_async(model: Any, messages: Any, *args: Any, **options: Any) -> Any:
            request = _Streamed(owner, stock, model)
            hook_args = model, messages, split(args, options), None
            if not words.patches.is_live or request.is_asked:
                parts = give_items_async(words, request, *hook_args)
            else:
                parts = ask_in_parts_async(words, request, forms, *hook_args)
            try:
                async for message in parts:
                    yield request.chunk(message)
            finally:
                await parts.aclose()

        return stream_async

    @functools.wraps(stock)
    def stream(model: Any, messages: Any, *args: Any, **options: Any) -> Any:
        request = _Streamed(owner, stock, model)
        hook_args = model, messages, split(args, options), None
        if not words.patches.is_live or request.is_asked:
            parts = give_items(words, request, *hook_args)
        else:
            parts = ask_in_parts(words, request, forms, *hook_args)
        try:
            for message in parts:
                yield request.chunk(message)
        finally:
            parts.close()

    return stream


def _message(items: list[Any]) -> Any:
    whole = functools.reduce(add, items)
    return import_module("langchain_core.messages").message_chunk_to_message(whole)


def _chunks(answer: Any) -> list[Any]:
    messages = import_module("langchain_core.messages")
    if isinstance(answer, str):
        return [messages.AIMessageChunk(answer)]
    if isinstance(answer, messages.AIMessageChunk):
        return [answer]
    return [messages.AIMessageChunk(**answer.model_dump(exclude={"type"}))]


def _message_of_events(events: list[Any]) -> Any:
    stream = import_module("langchain_core.language_models.chat_model_stream").ChatModelStream()
    for event in events:
        stream.dispatch(event)
    if stream.output_message is None:
        stream.dispatch({"event": "message-finish"})
    return stream.output_message


def _events(answer: Any) -> Any:
    bridge = import_module("langchain_core.language_models._compat_bridge")
    if isinstance(answer, str):
        answer = import_module("langchain_core.messages").AIMessage(answer)
    return bridge.message_to_events(answer)
