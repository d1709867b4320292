"""Part of the story: a stream, item by item."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from functools import partial
from typing import Any

import attrs

from .around import Onion, Reached, begin, enter, refused
from .asking import guard, observe, revise
from .call import Answered, Call, Over
from .context import Block, Drop, Replace
from .drive import Emit, Step
from .turns import Answer, Turn


@attrs.define(eq=False)
class Source:
    """A generator that items are pulled from: the method's, an around's, or one that stands in for them."""

    generator: Any
    is_async: bool
    onion: Onion | None = None
    outcome: str = "returned"

    def advance(self, call: Call, mode: str, value: Any) -> Turn:
        """Return the turn that sends a value in, or throws an exception."""
        step = partial(getattr(self.generator, f"a{mode}" if self.is_async else mode), value)
        if self.onion is None:
            return Turn(step, "step", frame=call.own_frame, is_receiver=False)
        return Turn(step, "step", self.onion.deadline, call.receiver_frame, is_async=self.is_async)

    def closing(self, call: Call) -> Turn:
        close = self.generator.aclose if self.is_async else self.generator.close
        is_around = self.onion is not None
        return Turn(close, "step", frame=call.receiver_frame if is_around else call.own_frame, is_receiver=is_around)

    def close_inside(self, call: Call) -> Generator[Step, Any, None]:
        """Close what an around has left open further in."""
        inner = self.onion.streams if self.onion is not None else ()
        left = [Source(stream, self.is_async) for stream in inner]
        yield from _close(call, left + call.sources[call.sources.index(self) + 1 :])

    def ended(self, call: Call, answer: Answer, thrown: BaseException | None = None) -> Generator[Step, Any, Reached]:
        """Say what its end makes of the call. What the consumer threw in and gets back is nobody's failure."""
        if isinstance(answer.error, StopAsyncIteration if self.is_async else StopIteration):
            answer = Answer(getattr(answer.error, "value", None))
        if self.onion is None:
            reached = Reached.of_body(answer)
            return reached if reached.error is not None else attrs.evolve(reached, outcome=self.outcome)
        yield from self.close_inside(call)
        if answer.error is not None and answer.error is thrown:
            self.onion.last = Reached.of_body(answer)
        return self.onion.settle(answer)


def open_source(
    call: Call, depth: int, kwargs: dict[str, Any], must_recheck: bool, answered: Answered
) -> Generator[Step, Any, Source | Reached]:
    """Go in from around number `depth`: return the generator to pull from, or what went wrong."""
    if depth == len(call.plan.around):
        instead = yield from enter(call, kwargs, must_recheck)
        if instead is not None:
            return instead
        answer = yield Turn(call.body(kwargs), "open", frame=call.own_frame, is_receiver=False)
        return Reached.of_body(answer) if answer.error is not None else opened(call, Source(answer.value, call.hook.is_async))
    begun = begin(call, depth, kwargs, must_recheck, answered, relay)
    if begun is None:
        return (yield from open_source(call, depth + 1, kwargs, must_recheck, answered))
    if isinstance(begun, Reached):
        return begun
    onion, turn = begun
    answer = yield turn
    needed = "asend" if call.hook.is_async else "send"
    if answer.error is None and not isinstance(answer.value, Block) and not hasattr(answer.value, needed):
        answer = refused(onion.seat, answer.value, f"items: around a stream, write {call.hook.colour} function")
    if answer.error is not None or isinstance(answer.value, Block):
        return onion.settle(answer)
    return opened(call, Source(answer.value, call.hook.is_async, onion))


def opened(call: Call, source: Source) -> Source:
    call.sources.append(source)
    return source


def close_sources(call: Call) -> Generator[Step, Any, None]:
    """Close the generators of a call, outermost first; one that has ended already takes no notice."""
    yield from _close(call, call.sources)


def _close(call: Call, sources: list[Source]) -> Generator[Step, Any, None]:
    answers = []
    for source in sources:
        answers.append((source, (yield source.closing(call))))
    for source, answer in answers:
        if source.onion is not None:
            source.onion.let_out(answer)
        elif answer.must_go_out:
            call.leave(answer.error, "cancelled" if answer.is_cancel else "raised")


def relay(
    call: Call, depth: int, kwargs: dict[str, Any], must_recheck: bool, answered: Answered
) -> Generator[Step, Any, Reached]:
    """Pass the items from further in to the around that asked for them, as they are."""
    source = yield from open_source(call, depth, kwargs, must_recheck, answered)
    if isinstance(source, Reached):
        return source
    return (yield from pump(call, source))


def pump(call: Call, source: Source, each: Callable[[Call, Any], Any] | None = None) -> Generator[Step, Any, Reached]:
    """Pass items on until the source ends or the consumer leaves. `each` says what becomes of an item, or drops it."""
    mode, value = "send", None
    while True:
        if each is None and mode == "send" and (call.ending is not None or call.has_left):
            return (yield from source.ended(call, (yield source.closing(call))))  # somebody pulls on after the call
        answer = yield source.advance(call, mode, value)
        if answer.error is not None:
            return (yield from source.ended(call, answer, thrown=value if mode == "throw" else None))
        if source.onion is not None and (source.onion.view.tampered or call.ending is not None):
            return (yield from source.ended(call, (yield source.closing(call))))
        mode, value, item = "send", None, answer.value
        if each is not None:
            item = yield from each(call, item)
            if isinstance(item, Drop):
                continue
        reply = yield Emit(item)
        if isinstance(reply.error, GeneratorExit):
            closed = yield source.closing(call)
            is_quiet = closed.error is None or isinstance(closed.error, GeneratorExit)
            return (yield from source.ended(call, reply if is_quiet else closed, thrown=reply.error))
        mode, value = ("throw", reply.error) if reply.error is not None else ("send", reply.value)


def hooked_item(call: Call, item: Any) -> Generator[Step, Any, Any]:
    """Ask the item receivers; return the item as it leaves, or `Drop`."""
    answered: Answered = set()
    for seat in call.plan.item.modify:
        item = yield from revise(call, seat, answered, "item", item)
        if isinstance(item, Drop):
            return item
    yield from guard(call, call.plan.item.guard, item=item)
    yield from observe(call, call.plan.item.observe, item=item)
    return item


def stream(call: Call, replaced: Replace | None) -> Generator[Step, Any, Reached]:
    """Run a stream, or the items that stand in for it, through the item receivers."""
    source: Source | Reached
    if replaced is not None:
        items = as_generator(replaced.result, call.hook.is_async)
        source = opened(call, Source(items, call.hook.is_async, outcome="replaced"))
    else:
        source = yield from open_source(call, 0, call.kwargs, False, set())
    if isinstance(source, Reached):
        return source
    try:
        return (yield from pump(call, source, hooked_item))
    except Over:
        yield from close_sources(call)
        raise


def as_generator(items: Any, is_async: bool) -> Any:
    """Return something to pull items from by `send`, `throw` and `close`."""
    if hasattr(items, "asend" if is_async else "send"):
        return items
    return _each_async(items) if is_async else _each(items)


def _each(items: Iterable[Any]) -> Generator[Any, Any, None]:
    for item in items:  # noqa: UP028 - `yield from` would pass on what is sent, which an iterator does not take
        yield item


async def _each_async(items: Any) -> AsyncGenerator[Any, Any]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
