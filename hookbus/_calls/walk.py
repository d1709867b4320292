"""The story of one call, told once: pre, around, the method, error, post, finally. Whatever else runs a call must equal it.

Each function is a part of the story: a generator that yields what must be done and is sent what came of it (`_drive`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..exceptions import HookError
from .around import Reached, attempt
from .asking import Part, ask, check_items, guard, modify_arguments, observe, revise, wrong_return
from .call import Answered, Call, Over
from .context import NOTHING, Replace
from .drive import DRIVERS, Emit, Parts, Story
from .stream import close_sources, stream


def walk(call: Call, tell: Callable[[Parts, Callable[[], Parts]], Story] = Story) -> Any:
    """Run one call: return its result, or the coroutine or generator of it, by the colour of the hook."""
    started = DRIVERS[call.hook.colour](tell(story(call), lambda: _cut_off(call)))
    if call.hook.colour != "sync":
        started.__name__, started.__qualname__ = call.hook.body.__name__, call.hook.body.__qualname__
    return started


def story(call: Call) -> Parts:
    """Tell everything that happens to one call; the pair is what its caller gets."""
    call.start()
    try:
        replaced = yield from _pre(call)
        try:
            yield from _run(call, replaced)
        finally:
            call.has_left = True
        yield from _post(call)
    except Over:
        if call.hook.is_stream and call.parting is not NOTHING:
            reply = yield Emit(call.parting)
            call.parting = None
            call.way_out = None if isinstance(reply.error, GeneratorExit) else reply.error
    return (yield from _finally(call))


def _cut_off(call: Call) -> Parts:
    """End a call whose story was cut off: close what is open, then `finally`."""
    with suppress(Over):
        call.leave(GeneratorExit(), "cancelled")
    with suppress(Over):
        yield from close_sources(call)
    return (yield from _finally(call))


def _finally(call: Call) -> Parts:
    """Observers look, on every exit; then the end is told."""
    call.noted = call.way_out if call.verdict is None else None
    with suppress(Over):  # by then an observer's KeyboardInterrupt or the caller's cancellation is the way out
        yield from observe(call, call.plan.final.observe, result=call.result, error=call.way_out)
    return call.finish()


def _pre(call: Call) -> Part:
    """Modifiers may change the arguments or replace the result; guards judge what will really run; observers look."""
    replaced = None
    answered: Answered = set()
    for seat in call.plan.pre.modify:
        replaced = yield from modify_arguments(call, seat, answered)
        if replaced is not None:
            break
    yield from guard(call, call.plan.pre.guard)
    for seat in call.plan.unaskable:
        call.failed(seat, HookError(seat.problem or "it guards a phase this hook does not have"))
    yield from observe(call, call.plan.pre.observe)
    return replaced


def _run(call: Call, replaced: Replace | None) -> Part:
    """The arounds and the method inside them, or what replaces them; then the error receivers, once, if that raised."""
    if call.outcome is not None:
        raise Over
    if call.reached is not None:
        reached = call.reached
    elif call.hook.is_stream:
        reached = yield from stream(call, replaced)
    elif replaced is not None:
        reached = Reached(replaced.result, outcome="replaced")
    else:
        reached = yield from attempt(call, 0, call.kwargs, False, set())
    if isinstance(reached.error, Exception):
        call.error = call.noted = reached.error
        rescue = yield from _error(call)
        if rescue is None:
            call.leave(reached.error)
        call.error = call.noted = None
        reached = Reached(rescue.result, outcome="replaced")
        if call.hook.is_stream:
            reached = yield from stream(call, rescue)
    if reached.error is not None:
        call.error = reached.error
        call.leave(reached.error, reached.outcome)
    call.result, call.outcome = reached.value, reached.outcome


def _error(call: Call) -> Part:
    """Modifiers may rescue the call: the first `Replace` is its result. Observers look."""
    rescue = None
    error = call.error
    answered: Answered = set()
    for seat in call.plan.error.modify:

        def read(answer: Any, seat: Any = seat) -> Replace | None:
            if answer is not None and not isinstance(answer, Replace):
                wrong_return(seat, answer, "None or Replace(result)")
            if answer is not None:
                check_items(call, seat, answer)
            return answer

        rescue = yield from ask(call, seat, answered, read, error=error)
        if rescue is not None:
            call.tell_change(seat, "result", None, rescue.result)
            break
    yield from observe(call, call.plan.error.observe, error=error)
    return rescue


def _post(call: Call) -> Part:
    """Modifiers may change the result; guards may withhold it; observers look."""
    answered: Answered = set()
    for seat in call.plan.post.modify:
        call.result = yield from revise(call, seat, answered, "result", call.result)
    yield from guard(call, call.plan.post.guard, result=call.result)
    yield from observe(call, call.plan.post.observe, result=call.result)
