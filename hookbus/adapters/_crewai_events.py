"""CrewAI's own events of a model's answer wait until guards have judged it.

CrewAI emits an event for each part of an answer, and one for all of it, while the model is asked.
Where something may change or block the answer, they are kept, and emitted once that is decided.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, Final

from hookbus import HookBlocked

from ._streams import Kept, is_held_back
from ._vocabulary import Vocabulary


class _Answer:
    """An answer that is waited for, and the events that CrewAI has for its listeners.

    Attributes:
        model: which is asked.
        is_asking: whether it is being asked right now. Guards run before and after that.
        events: what waits.
    """

    def __init__(self, model: Any, emitter: Any) -> None:
        self.model, self.is_asking, self.events = model, False, list[Any]()
        self._emitter, self._kept = emitter, Kept(None)

    @contextmanager
    def asking(self) -> Iterator[None]:
        self.give_up("the model was asked again")
        self.is_asking = True
        try:
            yield
        finally:
            self.is_asking = False

    def keep(self, answer: Any) -> Any:
        """Note what the model answered, and return it."""
        self._kept = Kept(answer)
        return answer

    def give_out(self, answer: Any) -> Any:
        """Emit the events of an answer: of one that was changed only that it is complete."""
        is_still = self._kept.is_still(answer)
        events = self.events if is_still else self._completed()
        for event in events:
            if not is_still:
                event.response = _serialized(answer)
            self._emitter.emit(self.model, event)
        return answer

    def give_up(self, reason: str) -> None:
        """Emit that an answer failed, and none of its parts."""
        failed = import_module("crewai.events.types.llm_events").LLMCallFailedEvent
        about = "model", "call_id", "task_id", "task_name", "agent_id", "agent_role"
        for event in self._completed():
            known = {name: getattr(event, name) for name in about}
            self._emitter.emit(self.model, failed(error=reason, **known))
        self.events.clear()

    def _completed(self) -> list[Any]:
        return [event for event in self.events if hasattr(event, "response")]


_ANSWER: Final[ContextVar[_Answer | None]] = ContextVar("hookbus_crewai_answer", default=None)


def _serialized(answer: Any) -> Any:
    return import_module("crewai.utilities.serialization").to_serializable(answer)


def keep_events(words: Vocabulary, llm: type) -> None:
    """Keep what CrewAI would emit of an answer. To be called before the models are hooked."""
    events = import_module("crewai.events.types.llm_events")
    kinds = events.LLMStreamChunkEvent, events.LLMThinkingChunkEvent, events.LLMCallCompletedEvent

    def kept(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def emit(emitter: Any, source: Any, event: Any) -> Any:
            answer = _ANSWER.get()
            is_kept = answer is not None and answer.is_asking and answer.model is source
            if answer is None or not is_kept or not isinstance(event, kinds):
                return stock(emitter, source, event)
            answer.events.append(event)
            return None

        return emit

    words.patches.wrap(import_module("crewai.events.event_bus").CrewAIEventsBus, "emit", kept)
    for name in ("call", "acall"):
        words.patches.wrap(llm, name, _asked)


def give_events(words: Vocabulary, llm: type) -> None:
    """Emit them once the answer was judged. To be called after the models are hooked."""
    for name in ("call", "acall"):
        words.patches.wrap(llm, name, functools.partial(_judged, words))


def _asked(owner: type, stock: Any) -> Any:
    """Note that a model is asked, innermost: by the method of the class of the model."""

    def begun(model: Any) -> _Answer | None:
        answer = _ANSWER.get()
        is_own = answer is not None and answer.model is model and not answer.is_asking
        return answer if is_own else None

    @functools.wraps(stock)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        if (answer := begun(model)) is None:
            return stock(model, *args, **kwargs)
        with answer.asking():
            return answer.keep(stock(model, *args, **kwargs))

    @functools.wraps(stock)
    async def acall(model: Any, *args: Any, **kwargs: Any) -> Any:
        if (answer := begun(model)) is None:
            return await stock(model, *args, **kwargs)
        with answer.asking():
            return answer.keep(await stock(model, *args, **kwargs))

    return acall if iscoroutinefunction(stock) else call


def _judged(words: Vocabulary, owner: type, stock: Any) -> Any:
    is_async = iscoroutinefunction(stock)

    def is_waited_for(model: Any) -> bool:
        outer = _ANSWER.get()
        is_inside = outer is not None and outer.model is model and outer.is_asking
        is_live = words.patches.is_live and not is_inside
        return is_live and is_held_back(words, model, is_async=is_async)

    @functools.wraps(stock)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_waited_for(model):
            return stock(model, *args, **kwargs)
        with _waiting(model) as answer:
            found = stock(model, *args, **kwargs)
        return answer.give_out(found)

    @functools.wraps(stock)
    async def acall(model: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_waited_for(model):
            return await stock(model, *args, **kwargs)
        with _waiting(model) as answer:
            found = await stock(model, *args, **kwargs)
        return answer.give_out(found)

    return acall if is_async else call


@contextmanager
def _waiting(model: Any) -> Iterator[_Answer]:
    answer = _Answer(model, import_module("crewai.events.event_bus").crewai_event_bus)
    token = _ANSWER.set(answer)
    try:
        yield answer
    except HookBlocked as blocked:
        answer.give_up(str(blocked))
        raise
    except BaseException as error:
        answer.give_up(type(error).__name__)
        raise
    finally:
        _ANSWER.reset(token)
