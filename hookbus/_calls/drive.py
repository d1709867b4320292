"""Four short drivers that walk a story: for a plain call, a coroutine, a generator, and an async generator.

A story is a generator that yields what must be done (a `Turn`, a list of them to do side by side, or an `Emit`), is sent
the `Answer`, and returns a pair of a result and an exception. So the story is told once, and knows nothing of colours.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final

import attrs

from .turns import Answer, Turn, do, do_async
from .workers import Deadline, Pair, unpair


@attrs.frozen
class Emit:
    """One item that leaves the stream; the answer is what the consumer sent, or threw."""

    item: Any


Step = Turn | list[Turn] | Emit
Parts = Generator[Step, Any, Pair]


class Story:
    """What a driver walks: the parts of a call, and what must still happen where they are cut off.

    The garbage collector may close the parts before the driver that walks them, when a stream nobody holds is collected.
    """

    may_wait = True

    def __init__(self, parts: Parts, rest: Callable[[], Parts]) -> None:
        self._parts = parts
        self._rest: Callable[[], Parts] | None = rest

    def send(self, answer: Any) -> Step:
        if isinstance(answer, Answer) and isinstance(answer.error, GeneratorExit) and _has_ended_inside(self._parts):
            self._parts.close()
        try:
            return self._parts.send(answer)
        except StopIteration as end:
            if end.value is not None or self._rest is None:
                raise
        self._parts, self._rest = self._rest(), None
        return self._parts.send(None)


def _has_ended_inside(parts: Any) -> bool:
    """Tell whether a generator waits for one that has been closed already."""
    while parts is not None and parts.gi_frame is not None:
        inner = parts.gi_yieldfrom
        if inner is not None and inner.gi_frame is None:
            return True
        parts = inner
    return False


def drive(story: Story, within: Deadline | None = None) -> Any:
    """Walk the story of a plain call. `within` is the deadline of the around that made it, whose clock stands still."""
    answer: Any = None
    while True:
        try:
            step = story.send(answer)
        except StopIteration as end:
            pair = end.value
            break
        answer = do(step, within)
    return unpair(pair)


def drive_generator(story: Story, within: Deadline | None = None) -> Generator[Any, Any, Any]:
    """Walk the story of a generator."""
    answer: Any = None
    while True:
        try:
            step = story.send(answer)
        except StopIteration as end:
            pair = end.value
            break
        if isinstance(step, Emit):
            try:
                answer = Answer((yield step.item))
            except BaseException as thrown:  # the story decides what becomes of it
                answer = Answer(error=thrown)
        else:
            answer = do(step, within)
    return unpair(pair)


async def drive_async(story: Story, within: Deadline | None = None) -> Any:
    """Walk the story of a coroutine."""
    answer: Any = None
    perform = do_async if story.may_wait else _do_without_waiting
    while True:
        try:
            step = story.send(answer)
        except StopIteration as end:
            pair = end.value
            break
        try:
            answer = await perform(step, within)
        except GeneratorExit as closing:
            answer, perform = _closed(step, closing), _do_without_waiting
    return unpair(pair)


async def drive_async_generator(story: Story, within: Deadline | None = None) -> AsyncGenerator[Any, Any]:
    """Walk the story of an async generator."""
    answer: Any = None
    perform = do_async
    while True:
        try:
            step = story.send(answer)
        except StopIteration as end:
            pair = end.value
            break
        if isinstance(step, Emit):
            try:
                answer = Answer((yield step.item))
            except BaseException as thrown:  # the story decides what becomes of it
                answer = Answer(error=thrown)
        else:
            try:
                answer = await perform(step, within)
            except GeneratorExit as closing:
                answer, perform = _closed(step, closing), _do_without_waiting
    unpair(pair)


def _closed(step: Any, closing: GeneratorExit) -> Any:
    """Return the answer of a step that was under way when the coroutine was closed."""
    answer = Answer(error=closing, is_cancel=True)
    return [answer] * len(step) if isinstance(step, list) else answer


async def _do_without_waiting(step: Any, within: Deadline | None) -> Any:
    """Do what is left of a coroutine that is being closed: it may not wait any more."""
    return do(step, within)


DRIVERS: Final[dict[str, Callable[..., Any]]] = {
    "sync": drive,
    "async": drive_async,
    "generator": drive_generator,
    "async generator": drive_async_generator,
}
