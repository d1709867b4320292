"""LiteLLM: hooks around every chat completion, streamed or not.

Not covered: `responses`; `text_completion`, if it calls a text completion provider directly;
`embedding` and similar functions; and functions that were stored outside a module before `install`,
such as `functools.partial(litellm.completion)`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from .._ground.keywords import named_options
from ._arguments import positional_names
from ._newer import Untested
from ._own_hooks import View
from ._patches import Between, Uninstall
from ._streams import Forms, ask_in_parts, ask_in_parts_async
from ._vocabulary import INSIDE, Attempt, Vocabulary
from .kit import Adapter, Gate

SUPPORTED: Final = Between("1.106.0", "1.110.2")
"""Versions of litellm. Earlier releases of its Router retried calls that guardrails deny."""

_END: Final = object()


@named_options
def install(bus: Bus = default_bus, *, untested: Untested = "check") -> Uninstall:
    """Hook LiteLLM's chat completions in every module that has imported the functions.

    `model_call` covers every `completion` and `acompletion`, streamed or not, by a program, the
    `Router` or another framework; `model_stream` gets the parts of a streamed answer. The argument
    `model` is a string. To connect a receiver to one model, pass `when={"model": "openai/gpt-5"}`.
    A streaming call waits for its first part, so that a blocked call raises `HookBlocked`
    immediately. After a blocked call, the `Router` does not retry, does not fall back to another
    model, and does not put a deployment into cooldown.

    Args:
        bus: the bus to declare the hooks on.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Returns:
        A function that restores LiteLLM. A second call does nothing.

    Raises:
        HookError: if litellm is not installed, is incompatible, or already runs on hookbus.
    """
    return _ADAPTER.install_with(bus, untested=untested)


_ADAPTER: Final = Adapter(
    "litellm", tested=SUPPORTED, sample="hookbus.adapters._seams.litellm"
)
_ADAPTER.words("model_call", "model_stream")


@_ADAPTER.also
def _hook_completions(gate: Gate) -> None:
    front, main = import_module("litellm.chat_completions.dispatch"), "litellm.main"
    import_module("litellm.router")
    for home, name, layer in (
        (front, "completion", 0), (front, "acompletion", 0),
        (import_module(main), "acompletion", 1), (import_module(main), "completion", 2),
    ):  # fmt: skip
        make = functools.partial(
            _plain if name == "completion" else _async, gate.vocabulary, layer
        )
        gate.patches.wrap_function(home, name, make, also_outside=True)


@_ADAPTER.wrap("litellm.integrations.custom_guardrail:is_guardrail_intervention")
def _is_intervention(gate: Gate, stock: Any, error: Exception) -> bool:
    """Return True for a denial, so that LiteLLM treats it as an intervention and never retries the
    call."""
    return isinstance(error, HookBlocked) or bool(stock(error))


class _Asked(Attempt):
    """A completion in progress, which passes through several of LiteLLM's functions.

    Attributes:
        answer: LiteLLM's answer, or the wrapper of a stream.
    """

    answer: Any = None

    def __init__(self, model: Any, messages: Any, layer: int, body: Callable[..., Any]) -> None:
        super().__init__(body)
        self.model, self.messages, self.layer = model, messages, layer


class _Call:
    """A call of a completion, with the model, the messages, and the other arguments of LiteLLM's
    function."""

    def __init__(self, stock: Any, layer: int, options: dict[str, Any]) -> None:
        self.stock, self.options = stock, options
        self.model, self.messages = options.pop("model", None), options.pop("messages", [])
        self.is_stream = bool(options.get("stream")) and not options.get("complete_response")
        self.attempt = _Asked(self.model, self.messages, layer, self.body)

    def body(self, messages: Any, options: dict[str, Any]) -> Any:
        self.attempt.messages = messages
        return self.stock(model=self.model, messages=messages, **options)

    async def awaited(self, messages: Any, options: dict[str, Any]) -> Any:
        found = self.body(messages, options)
        return await found if inspect.isawaitable(found) else found

    def is_asked(self) -> bool:
        """Return whether this call is nested in a hooked call with the same model and messages."""
        outer = INSIDE.get()
        if not isinstance(outer, _Asked) or outer.layer >= self.attempt.layer:
            return False
        return bool(outer.model == self.model and outer.messages == self.messages)

    @property
    def forms(self) -> Forms:
        return Forms(import_module("litellm").stream_chunk_builder, _chunks)

    @property
    def hook_args(self) -> tuple[Any, ...]:
        return self.model, self.messages, self.options, None


def _chunks(answer: Any) -> list[Any]:
    litellm = import_module("litellm")
    if isinstance(answer, str):
        message = litellm.Message(content=answer, role="assistant")
        answer = litellm.ModelResponse(choices=[litellm.Choices(message=message)])
    iterator = import_module("litellm.llms.base_llm.base_model_iterator")
    return [iterator.convert_model_response_to_streaming(answer)]


def _plain(words: Vocabulary, layer: int, stock: Any) -> Any:
    names = positional_names(stock)

    @functools.wraps(stock)
    def completion(*args: Any, **kwargs: Any) -> Any:
        call = _Call(stock, layer, {**dict(zip(names, args, strict=False)), **kwargs})
        if not words.patches.is_live or call.is_asked():
            return stock(*args, **kwargs)
        if kwargs.get("acompletion"):  # it returns a coroutine
            return _answered(words, call)
        if not call.is_stream:
            return words.run("model_call", call.attempt, *call.hook_args)

        def parts(messages: Any, options: dict[str, Any]) -> Generator[Any, Any, None]:
            call.attempt.answer = call.body(messages, options)
            yield from call.attempt.answer

        call.attempt.body = parts
        parts_of = ask_in_parts(words, call.attempt, call.forms, *call.hook_args)
        first = [part for part in [next(parts_of, _END)] if part is not _END]
        return _Parts(call.attempt.answer, _parts=parts_of, _first=first)

    return completion


def _async(words: Vocabulary, layer: int, stock: Any) -> Any:
    names = positional_names(stock)

    @functools.wraps(stock)
    async def acompletion(*args: Any, **kwargs: Any) -> Any:
        call = _Call(stock, layer, {**dict(zip(names, args, strict=False)), **kwargs})
        if not words.patches.is_live or call.is_asked():
            return await stock(*args, **kwargs)
        return await _answered(words, call)

    return acompletion


async def _answered(words: Vocabulary, call: _Call) -> Any:
    attempt = call.attempt
    if not call.is_stream:
        attempt.body = call.awaited
        return await words.run_async("model_call", attempt, *call.hook_args)

    async def parts(messages: Any, options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        attempt.answer = await call.awaited(messages, options)
        try:
            async for part in attempt.answer:
                yield part
        finally:
            await attempt.answer.aclose()

    attempt.body = parts
    parts_of = ask_in_parts_async(words, attempt, call.forms, *call.hook_args)
    first = [part for part in [await anext(parts_of, _END)] if part is not _END]
    return _AsyncParts(attempt.answer, _parts=parts_of, _first=first)


class _Stream(View):
    """A view of LiteLLM's stream object, whose parts pass through the hooks."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        behind = self.__dict__["_behind"]
        return type(self) if behind is None else type(behind)


class _Parts(_Stream):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        mine = self.__dict__
        return mine["_first"].pop() if mine["_first"] else next(mine["_parts"])

    def close(self) -> None:
        self.__dict__["_parts"].close()


class _AsyncParts(_Stream):
    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        mine = self.__dict__
        return mine["_first"].pop() if mine["_first"] else await anext(mine["_parts"])

    async def aclose(self) -> None:
        await self.__dict__["_parts"].aclose()
