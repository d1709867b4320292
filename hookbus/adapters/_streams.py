"""Runs requests for streamed answers as `model_call`.

`pre` guards run before the model is called. `post` receivers that may change or block the answer,
and all `around` receivers, need the whole answer. If there are any, the parts are held back until
the answer is complete and these receivers have returned. If only observers see the answer, its
parts are passed on immediately. In both cases, `item_model_stream` receivers see each part first.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import aclosing, closing
from typing import Any, NamedTuple

from ._asides import run_judged, run_judged_async
from ._held_back import PHASES, Kept, is_held_back, receivers_of
from ._parts import Part, Whole, each, each_async, steps, steps_async
from ._vocabulary import CALLED, Attempt, Vocabulary, give, give_async

_log = logging.getLogger("hookbus")


class Forms(NamedTuple):
    """Converts a framework's answer between its parts and the whole answer.

    Attributes:
        whole: joins all items to one answer, in the same type as an answer that is not streamed.
        items: splits an answer into items, usually only one.
    """

    whole: Callable[[list[Any]], Any]
    items: Callable[[Any], Iterable[Any]]


def is_seen_in_parts(words: Vocabulary, model: Any) -> bool:
    """Return whether any receiver is connected to the single parts of an answer."""
    return any(receivers_of(words, model, phase, "model_stream") for phase in PHASES)


def give_items(
    words: Vocabulary, attempt: Attempt, model: Any, messages: Any, options: Any, agent: Any
) -> Generator[Any, Any, None]:
    """Yield the items of a hooked request after the `model_stream` receivers have seen them."""
    if not is_seen_in_parts(words, model):
        return give(attempt, messages, options)
    return words.stream("model_stream", attempt, model, messages, options, agent)


def give_items_async(
    words: Vocabulary, attempt: Attempt, model: Any, messages: Any, options: Any, agent: Any
) -> AsyncGenerator[Any, None]:
    """Like `give_items`, but for async items."""
    if not is_seen_in_parts(words, model):
        return give_async(attempt, messages, options)
    return words.stream_async("model_stream", attempt, model, messages, options, agent)


class _Request:
    """One streamed request.

    Args:
        vocabulary: the vocabulary with the hooks.
        attempt: the body of this attempt yields the items. Code inside the body finds the call by
            this attempt.
        forms: converts the framework's answers between parts and whole answers.
        hook_args: the model, the messages, the options and the agent.
    """

    def __init__(
        self, vocabulary: Vocabulary, attempt: Attempt, forms: Forms, hook_args: tuple[Any, ...]
    ) -> None:
        self.words, self.attempt, self.forms, self.hook_args = vocabulary, attempt, forms, hook_args
        self.model, self._items, self._kept = hook_args[0], list[Any](), Kept(object())

    def _is_looked_at(self) -> bool:
        phases = "post", "finally"
        return self.words.bus.values or any(
            receivers_of(self.words, self.model, phase) for phase in phases
        )

    # -- the answer --------------------------------------------------------------------------------

    def gather(self, items: list[Any]) -> Any:
        """Join all items into one answer."""
        self._items, self._kept = items, Kept(self.forms.whole(items) if items else None)
        return self._kept.value

    def gather_for_observers(self, items: list[Any]) -> Any:
        """Join all items into one answer, or return None if that fails. A failure must not end the
        call, because only observers need this answer.
        """
        try:
            return self.forms.whole(items) if items else None
        except Exception as error:
            kind = type(error).__name__
            _log.warning("the parts of a streamed answer could not be joined: %s", kind)
            return None

    def given_out(self, answer: Any) -> Iterable[Any]:
        """Return the items of the call's result. They are the model's own items if no receiver
        replaced or modified the answer.
        """
        return self._items if self._kept.is_still(answer) else self.forms.items(answer)

    def _leaving(self, part: Any) -> Iterable[Any]:
        """Return the items for a value that a live call yields."""
        if type(part) is Part:
            return (part.item,)
        # A call without receivers or listeners runs bare, and does not unpack its result.
        return () if type(part) is Whole else self.forms.items(part)

    # -- plain -------------------------------------------------------------------------------------

    def _given(self, messages: Any, options: Any) -> Generator[Any, Any, None]:
        agent = self.hook_args[3]
        return give_items(self.words, self.attempt, self.model, messages, options, agent)

    def _gathered(self, messages: Any, options: Any) -> Any:
        with closing(self._given(messages, options)) as items:
            return self.gather([*items])

    def _parts(self, messages: Any, options: Any) -> Generator[Any, Any, None]:
        kept: list[Any] | None = [] if self._is_looked_at() else None
        with closing(self._given(messages, options)) as items:
            for item in items:
                if kept is not None:
                    kept.append(item)
                yield Part(item)
        if kept is not None:
            yield Whole(self.gather_for_observers(kept))

    def items(self) -> Generator[Any, Any, None]:
        if is_held_back(self.words, self.model, is_async=False):
            attempt, aside = Attempt(self._gathered), self.attempt.aside
            answer = run_judged(self.words, attempt, aside, *self.hook_args)
            yield from self.given_out(answer)
            return
        outer = Attempt(self._parts)
        hooked = self.words.hookable("model_call_stream", is_async=False)(*self.hook_args, outer)
        with closing(steps(CALLED, outer, hooked)) as parts:
            for part in parts:
                yield from self._leaving(part)

    # -- async -------------------------------------------------------------------------------------

    def _given_async(self, messages: Any, options: Any) -> AsyncGenerator[Any, None]:
        return give_items_async(
            self.words, self.attempt, self.model, messages, options, self.hook_args[3]
        )

    async def _gathered_async(self, messages: Any, options: Any) -> Any:
        async with aclosing(self._given_async(messages, options)) as items:
            return self.gather([item async for item in items])

    async def _parts_async(self, messages: Any, options: Any) -> AsyncGenerator[Any, None]:
        kept: list[Any] | None = [] if self._is_looked_at() else None
        async with aclosing(self._given_async(messages, options)) as items:
            async for item in items:
                if kept is not None:
                    kept.append(item)
                yield Part(item)
        if kept is not None:
            yield Whole(self.gather_for_observers(kept))

    async def items_async(self) -> AsyncGenerator[Any, None]:
        if is_held_back(self.words, self.model, is_async=True):
            attempt, aside = Attempt(self._gathered_async), self.attempt.aside
            answer = await run_judged_async(self.words, attempt, aside, *self.hook_args)
            for item in self.given_out(answer):
                yield item
            return
        outer = Attempt(self._parts_async)
        hooked = self.words.hookable("model_call_stream", is_async=True)(*self.hook_args, outer)
        async with aclosing(steps_async(CALLED, outer, hooked)) as parts:
            async for part in parts:
                for item in self._leaving(part):
                    yield item


def ask_in_parts(
    vocabulary: Vocabulary, attempt: Attempt, forms: Forms, *hook_args: Any
) -> Generator[Any, Any, None]:
    """Run a streamed request as a `model_call`, and yield the items for its caller.

    Args:
        vocabulary: the vocabulary with the hooks.
        attempt: the body of this attempt takes the messages and the options, and returns an
            iterable of items.
        forms: converts the framework's answers between parts and whole answers.
        hook_args: the model, the messages, the options and the agent.

    Raises:
        HookBlocked: if the request was blocked, before any item is yielded.
    """
    stock = attempt.body
    attempt.body = lambda messages, options: each(stock(messages, options))
    return _Request(vocabulary, attempt, forms, hook_args).items()


def ask_in_parts_async(
    vocabulary: Vocabulary, attempt: Attempt, forms: Forms, *hook_args: Any
) -> AsyncGenerator[Any, None]:
    """Like `ask_in_parts`, but for an async request. The body may return an awaitable of items."""
    stock = attempt.body
    attempt.body = lambda messages, options: each_async(stock(messages, options))
    return _Request(vocabulary, attempt, forms, hook_args).items_async()
